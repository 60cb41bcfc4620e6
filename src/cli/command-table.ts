import { shellWord } from "../platform/text/shell-word.ts";

/** One program's commands as data: what commander parses, what completion offers and what help shows come from the same rows. */
export interface ProgramTable<Flags, Context> {
  readonly name: string;
  readonly summary: string;
  /** Flags of every command. */
  readonly common: readonly FlagRow[];
  readonly commands: readonly CommandRow<Flags, Context>[];
  /** The description of a group of commands in help: of `robots` for `robots list`. */
  readonly groups?: Readonly<Record<string, string>>;
  /** The kinds of names that arguments take, for completion: `{ FLEET: "fleets" }`. */
  readonly names?: Readonly<Record<string, string>>;
  /** The names of one kind. @param given the flags that were typed before, by the names that commander gives them. */
  namesOfKind?(kind: string, given: object, context: Context): Promise<readonly string[]>;
  /** Headings in the list of commands, with the commands or groups under each, in the order of the commands. */
  readonly headings?: Readonly<Record<string, readonly string[]>>;
  readonly examples: readonly string[];
  /** Commands in which hints do not repeat the common flags that were given, by their first word. */
  readonly unrepeated?: readonly string[];
}

export interface CommandRow<Flags, Context> {
  /** The word, or a flag such as `--setup` where the command is one. */
  readonly name: string;
  readonly summary: string;
  /** Its own, beside those of every command; none has the same name. */
  readonly flags?: readonly FlagRow[];
  /** Other words for the last one of the name: `ls` for `robots list`. Help shows the first. */
  readonly aliases?: readonly string[];
  /** Of a group: `contexts` is `contexts list`. */
  readonly isDefault?: true;
  /** `ID` for a required argument, `[ID]` for an optional one; several with blanks between: `METHOD PATH`; `[COMMAND...]` for any number. */
  readonly argument?: string;
  /** The allowed values of the first argument. */
  readonly choices?: readonly string[];
  /** As choices, but other values are allowed too. */
  readonly suggestions?: readonly string[];
  /** The kind of name of each argument, where the words of `argument` do not say it in `ProgramTable.names`. */
  readonly names?: readonly string[];
  readonly examples: readonly string[];
  /** Loads the command when it is run. */
  readonly load: () => Promise<LoadedCommand<Flags, Context>>;
}

/** `words` are all arguments. `Flags` is `never` where each command has a type of its own for them. Arguments that were not given are undefined. */
export type LoadedCommand<Flags, Context> = (
  flags: Flags,
  context: Context,
  argument: string | undefined,
  second: string | undefined,
  words: readonly string[],
) => Promise<number>;

export interface FlagRow {
  /**
   * As commander takes it: `--config FILE` is written `--config <file>`. Completion offers files for `<file>`, folders for `<dir>`. Of
   * `--no-browser` the command gets `browser`, true unless the flag is given.
   */
  readonly flag: string;
  readonly summary: string;
  /** May be given several times; the command gets a list. */
  readonly repeats?: true;
  /** Values that completion offers; others are allowed too. */
  readonly suggestions?: readonly string[];
  /** The kind of name of its value, for completion, which asks the program for the names: `robots`. */
  readonly names?: string;
  /** The allowed values. */
  readonly choices?: readonly string[];
  /** The command requires it. */
  readonly required?: true;
  /** The flag without which it would be ignored: `--wait` of `--timeout`. */
  readonly needs?: string;
  /** Flags that contradict it; named by one of both is enough. */
  readonly excludes?: readonly string[];
  readonly default?: string;
}

/** `--timeout` of `--timeout <time>`. */
export function wordOf({ flag }: FlagRow): string {
  return flag.split(" ")[0] ?? flag;
}

/** `--state-dir` → `stateDir`, as commander has it, which the daemon does not load. */
export function attributeOf(flag: string): string {
  return flag.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Of every command that prints JSON. */
export const JSON_FLAG: FlagRow = { flag: "--json", summary: "print one JSON document" };

/**
 * Puts the given flags of every command into the commands that a hint names, so that they work as printed:
 * `robot-policy robots list` → `robot-policy --context lab robots list`. A flag that the hint has itself is left out.
 */
export function repeatFlags<Flags, Context>(
  { name, common, commands, unrepeated = [] }: ProgramTable<Flags, Context>,
  given: object,
): (hint: string) => string {
  const values = new Map<string, unknown>(Object.entries(given));
  const flags = common.flatMap((row) => {
    const word = wordOf(row);
    const value = word === JSON_FLAG.flag ? undefined : values.get(attributeOf(word));
    if (value === undefined) return [];
    return [{ word, text: typeof value === "string" ? `${word} ${shellWord(value)} ` : `${word} ` }];
  });
  if (flags.length === 0) return (hint) => hint;
  const words = new Set(commands.map((row) => row.name.split(" ")[0] ?? ""));
  const repeating = [...words].filter((word) => !unrepeated.includes(word));
  const command = new RegExp(String.raw`\b${name} (?=(?:${repeating.join("|")})\b)`, "g");
  return (hint) => {
    const missing = flags.filter(({ word }) => !hint.includes(word)).map(({ text }) => text);
    return hint.replaceAll(command, (program) => program + missing.join(""));
  };
}
