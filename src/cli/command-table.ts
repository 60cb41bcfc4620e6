/** One program's commands as data: what commander parses, what completion offers and what help shows come from the same rows. */
export interface ProgramTable<Flags, Context> {
  readonly name: string;
  readonly summary: string;
  /** Flags of every command. */
  readonly common: readonly FlagRow[];
  readonly commands: readonly CommandRow<Flags, Context>[];
  /** What help says of a group of commands: of `robots` for `robots list`. */
  readonly groups?: Readonly<Record<string, string>>;
  /** The command of a group that its name alone stands for: `contexts` is `contexts list`. */
  readonly alone?: Readonly<Record<string, string>>;
  /** Headings of the list of commands, with the commands or groups under each; they come in the order of the commands. */
  readonly headings?: Readonly<Record<string, readonly string[]>>;
  readonly examples: readonly string[];
}

export interface CommandRow<Flags, Context> {
  /** The word, or a flag such as `--setup` where the command is one. */
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagRow[];
  /** Other words for the last one of the name: `ls` for `robots list`. Help shows the first. */
  readonly aliases?: readonly string[];
  /** `ID` for a required argument, `[ID]` for an optional one; several with blanks between: `METHOD PATH`. */
  readonly argument?: string;
  /** What the first argument may be, for completion and refusal. */
  readonly choices?: readonly string[];
  /** As choices, but other values are taken too. */
  readonly suggestions?: readonly string[];
  /** What each argument names, for completion, which asks the program itself for them: `["fleets", "models"]`. */
  readonly names?: readonly string[];
  readonly examples: readonly string[];
  /** Loads the command when it is chosen, and nothing before. */
  readonly load: () => Promise<LoadedCommand<Flags, Context>>;
}

/** Arguments that were not given are undefined. */
export type LoadedCommand<Flags, Context> = (
  flags: Flags,
  context: Context,
  argument: string | undefined,
  second: string | undefined,
) => Promise<number>;

/** A command's own flags, and those of every command, of which its own replace some. */
export function flagsOf(
  { flags }: Pick<CommandRow<never, never>, "flags">,
  common: readonly FlagRow[],
): readonly FlagRow[] {
  return [...flags, ...common.filter(({ flag }) => !flags.some((own) => own.flag === flag))];
}

export interface FlagRow {
  /**
   * As commander takes it: `--config FILE` is written `--config <file>`. Completion offers files for `<file>`, folders for `<dir>`. Of
   * `--no-browser` the command gets `browser`, true unless the flag is given.
   */
  readonly flag: string;
  readonly summary: string;
  /** May be given several times; the command gets a list. */
  readonly repeats?: true;
  /** What completion offers; other values are taken too. */
  readonly suggestions?: readonly string[];
  /** What its value names, for completion, which asks the program itself for them: `robots`. */
  readonly names?: string;
  /** The values it may have. */
  readonly choices?: readonly string[];
  /** The command cannot do without. */
  readonly required?: true;
  readonly default?: string;
  /** Understood, but neither shown nor offered. */
  readonly hidden?: true;
}
