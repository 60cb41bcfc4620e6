import type { FlagRow, ProgramTable } from "../command-table.ts";

/** A program as completion sees it. */
export interface Completion {
  readonly program: string;
  /** Flags that are understood before a command is named. */
  readonly flags: readonly CompletedFlag[];
  readonly commands: readonly CompletedCommand[];
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** What is offered as its argument. */
  readonly choices: readonly string[];
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
  /** Offered if there are any, and others are taken too. */
  | { readonly kind: "text"; readonly suggestions: readonly string[] };

const HELP: FlagRow = { flag: "--help", summary: "show what there is" };
const VERSION: FlagRow = { flag: "--version", summary: "print the version" };

export function describeCompletion(table: ProgramTable<never, never>): Completion {
  const own = table.commands.filter(({ name }) => name.startsWith("--"));
  const flags = own.flatMap(({ name, summary, flags }) => [{ flag: name, summary }, ...flags]);
  return {
    program: table.name,
    flags: [...flags, ...table.common, VERSION, HELP].map(describeFlag),
    commands: table.commands
      .filter((row) => !own.includes(row))
      .map(({ name, summary, flags, choices, suggestions }) => ({
        name,
        summary,
        flags: [...flags, ...table.common, HELP].map(describeFlag),
        choices: choices ?? suggestions ?? [],
      })),
  };
}

function describeFlag({ flag, summary, suggestions }: FlagRow): CompletedFlag {
  const [name = "", placeholder] = flag.split(" ");
  return { name, summary, value: describeValue(placeholder, suggestions ?? []) };
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

/** Each flag of the program once: what follows it is the same wherever it stands. */
export function allFlags({ flags, commands }: Completion): readonly CompletedFlag[] {
  const all = [...flags, ...commands.flatMap((command) => command.flags)];
  return [...new Map(all.map((flag) => [flag.name, flag])).values()];
}
