/** One program's commands as data: what commander parses, what completion offers and what help shows come from the same rows. */
export interface ProgramTable<Flags, Context> {
  readonly name: string;
  readonly summary: string;
  /** Flags of every command. */
  readonly common: readonly FlagRow[];
  readonly commands: readonly CommandRow<Flags, Context>[];
  /** What help says of a group of commands: of `robots` for `robots list`. */
  readonly groups?: Readonly<Record<string, string>>;
  readonly examples: readonly string[];
}

export interface CommandRow<Flags, Context> {
  /** The word, or a flag such as `--setup` where the command is one. */
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagRow[];
  /** `ID` for a required argument, `[ID]` for an optional one. */
  readonly argument?: string;
  /** What the argument may be, for completion and refusal. */
  readonly choices?: readonly string[];
  /** As choices, but other values are taken too. */
  readonly suggestions?: readonly string[];
  readonly examples: readonly string[];
  /** Loads the command when it is chosen, and nothing before. */
  readonly load: () => Promise<(flags: Flags, context: Context, argument: string | undefined) => Promise<number>>;
}

export interface FlagRow {
  /** As commander takes it: `--config FILE` is written `--config <file>`. Completion offers files for `<file>`, folders for `<dir>`. */
  readonly flag: string;
  readonly summary: string;
  /** May be given several times; the command gets a list. */
  readonly repeats?: true;
  /** What completion offers; other values are taken too. */
  readonly suggestions?: readonly string[];
  /** The values it may have. */
  readonly choices?: readonly string[];
  /** The command cannot do without. */
  readonly required?: true;
  readonly default?: string;
}
