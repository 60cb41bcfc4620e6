import { type FlagRow, flagsOf, type ProgramTable } from "../command-table.ts";

/** The description of a program for completion. */
export interface Completion {
  readonly program: string;
  /** Flags that are accepted before the name of a command. */
  readonly flags: readonly CompletedFlag[];
  /** Those of one word; the others are in groups. */
  readonly commands: readonly CompletedCommand[];
  readonly groups: readonly CompletedGroup[];
}

/** Commands that share their first word: `robots list`, `robots show`. */
export interface CompletedGroup {
  readonly name: string;
  readonly summary: string;
  /** By their second words. */
  readonly commands: readonly CompletedCommand[];
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** The offered values of its argument. */
  readonly choices: readonly string[];
  /** The kind of name of each argument. */
  readonly names: readonly string[];
}

export interface CompletedFlag {
  /** `--config` */
  readonly name: string;
  readonly summary: string;
  readonly value: CompletedValue;
}

export type CompletedValue =
  | { readonly kind: "none" }
  | { readonly kind: "file" }
  | { readonly kind: "directory" }
  /** A kind of name that the program can list: `robots`. */
  | { readonly kind: "names"; readonly of: string }
  /** Offered values; others are allowed too. */
  | { readonly kind: "text"; readonly suggestions: readonly string[] };

const HELP: FlagRow = { flag: "--help", summary: "show help" };
const VERSION: FlagRow = { flag: "--version", summary: "print the version" };

export function describeCompletion(table: ProgramTable<never, never>): Completion {
  const own = table.commands.filter(({ name }) => name.startsWith("--"));
  const flags = own.flatMap(({ name, summary, flags = [] }) => [{ flag: name, summary }, ...flags]);
  const rows = table.commands.filter((row) => !own.includes(row));
  const names = new Set(rows.filter(({ name }) => name.includes(" ")).map(({ name }) => firstWord(name)));
  const describe = (row: (typeof rows)[number]) => describeCommand(row, table);
  return {
    program: table.name,
    flags: [...flags, ...table.common, VERSION, HELP].filter(isShown).map(describeFlag),
    commands: rows.filter(({ name }) => !name.includes(" ")).map(describe),
    groups: [...names].map((name) => ({
      name,
      summary: table.groups?.[name] ?? "",
      commands: rows.filter((row) => row.name.startsWith(`${name} `)).map(describe),
    })),
  };
}

function describeCommand(
  row: ProgramTable<never, never>["commands"][number],
  { common, names: kinds = {} }: ProgramTable<never, never>,
): CompletedCommand {
  const { name, summary, choices, suggestions, names, argument = "" } = row;
  return {
    name: name.slice(name.indexOf(" ") + 1),
    summary,
    flags: [...flagsOf(row, common), HELP].filter(isShown).map(describeFlag),
    choices: choices ?? suggestions ?? [],
    names: names ?? argument.split(" ").flatMap((word) => kinds[word] ?? []),
  };
}

function firstWord(name: string): string {
  return name.split(" ")[0] ?? name;
}

function isShown({ hidden }: FlagRow): boolean {
  return hidden !== true;
}

function describeFlag({ flag, summary, suggestions, choices, names }: FlagRow): CompletedFlag {
  const [name = "", placeholder] = flag.split(" ");
  if (names !== undefined) return { name, summary, value: { kind: "names", of: names } };
  return { name, summary, value: describeValue(placeholder, choices ?? suggestions ?? []) };
}

function describeValue(placeholder: string | undefined, suggestions: readonly string[]): CompletedValue {
  switch (placeholder) {
    case undefined:
      return { kind: "none" };
    case "<file>":
      return { kind: "file" };
    case "<dir>":
      return { kind: "directory" };
    default:
      return { kind: "text", suggestions };
  }
}

/**
 * The hidden command that prints the names of a kind, one per line: `PROGRAM __complete robots WORDS…`, with the words typed so far.
 */
export const COMPLETE = "__complete";

/** True when the program can list names of any kind. */
export function hasNames(completion: Completion): boolean {
  return (
    allFlags(completion).some(({ value }) => value.kind === "names") ||
    allCommands(completion).some(({ names }) => names.length > 0)
  );
}

/** Each flag of the program once, from the first command that has it. */
export function allFlags(completion: Completion): readonly CompletedFlag[] {
  const all = [...completion.flags, ...allCommands(completion).flatMap((command) => command.flags)];
  return [...new Map(all.map((flag) => [flag.name, flag])).values()];
}

interface ExceptionalFlag {
  /** With its group: `fleets list`. */
  readonly command: string;
  readonly flag: CompletedFlag;
}

/** Flags whose value differs from that of the same flag in the first command that has it. */
export function exceptionalFlags(completion: Completion): readonly ExceptionalFlag[] {
  const usual = new Map(allFlags(completion).map(({ name, value }) => [name, JSON.stringify(value)]));
  const exceptionsOf = (command: string, flags: readonly CompletedFlag[]) =>
    flags.filter(({ name, value }) => usual.get(name) !== JSON.stringify(value)).map((flag) => ({ command, flag }));
  return [
    ...completion.commands.flatMap(({ name, flags }) => exceptionsOf(name, flags)),
    ...completion.groups.flatMap((group) =>
      group.commands.flatMap(({ name, flags }) => exceptionsOf(`${group.name} ${name}`, flags)),
    ),
  ];
}

function allCommands({ commands, groups }: Completion): readonly CompletedCommand[] {
  return [...commands, ...groups.flatMap((group) => group.commands)];
}
