/** The commands of a program, from the rows that its parser, its help and its completion are made of. */
import { type CommandRow, type FlagRow, type ProgramTable } from "../../src/cli/command-table.ts";
import { EXIT } from "../../src/platform/terminal.ts";
import { type Block, heading, type Section, sentence, table, type Table, text } from "./section.ts";

type Row = CommandRow<never, never>;

/** A flag of so many commands is explained once. */
const SHARED_BY = 3;

/** COMMANDS: flags of all and of several commands once, then each command with those of its own. */
export function commandSection({ common, commands }: ProgramTable<never, never>): Section {
  const shared = sharedFlags(commands);
  const everywhere: readonly FlagRow[] = [
    ...common,
    { flag: "--help", summary: "show commands and flags; of a command, its own" },
    { flag: "-V, --version", summary: "print the version" },
  ];
  return {
    title: "Commands",
    blocks: [
      text("Every command takes these flags:"),
      flagTable(everywhere),
      text("Several commands take these; each says which:"),
      flagTable(shared),
      ...commands.flatMap((row) => describeCommand(row, shared)),
    ],
  };
}

/** Exit codes by their names in `EXIT`, which are the same for all programs. */
export function exitSection(words: Readonly<Partial<Record<keyof typeof EXIT, string>>>): Section {
  const codes = new Map<string, number>(Object.entries(EXIT));
  const rows = Object.entries(words).map(([name, meaning]) => [`\`${codes.get(name)}\``, meaning]);
  return { title: "Exit codes", blocks: [table(["code", "meaning"], rows)] };
}

function sharedFlags(commands: readonly Row[]): readonly FlagRow[] {
  const flags = commands.flatMap(({ flags = [] }) => flags);
  const groups = [...Map.groupBy(flags, keyOf).values()].filter(({ length }) => length >= SHARED_BY);
  return groups.flatMap(([first]) => first ?? []);
}

/** The same flag may mean different things to two commands. */
function keyOf({ flag, summary }: FlagRow): string {
  return `${flag} ${summary}`;
}

function describeCommand(row: Row, shared: readonly FlagRow[]): readonly Block[] {
  const { name, summary, argument, flags = [], choices = [], aliases = [], examples } = row;
  const keys = new Set(shared.map(keyOf));
  const own = flags.filter((flag) => !keys.has(keyOf(flag)));
  const others = flags.filter((flag) => keys.has(keyOf(flag)));
  const sentences = [
    sentence(summary),
    ...(aliases.length === 0 ? [] : [`Also called ${listed(aliases)}.`]),
    ...(choices.length === 0 ? [] : [`${argument} is one of ${listed(choices)}.`]),
    ...(others.length === 0 ? [] : [`Also takes ${listed(others.map(({ flag }) => flag.split(" ")[0] ?? flag))}.`]),
  ];
  return [
    heading(`\`${argument === undefined ? name : `${name} ${argument}`}\``),
    text(sentences.join(" ")),
    ...(own.length === 0 ? [] : [flagTable(own)]),
    ...(examples.length === 0 ? [] : [{ kind: "example", lines: examples } as const]),
  ];
}

function flagTable(flags: readonly FlagRow[]): Table {
  return table(
    ["flag", "meaning"],
    flags.map((row) => [`\`${row.flag}\``, describeFlag(row)]),
  );
}

function describeFlag({ summary, choices, default: preset, required, needs, excludes = [] }: FlagRow): string {
  const notes = [
    ...(choices === undefined ? [] : [`One of ${listed(choices)}.`]),
    ...(required === true ? ["Required."] : []),
    ...(needs === undefined || summary.includes(needs) ? [] : [`Needs \`${needs}\`.`]),
    ...(excludes.length === 0 ? [] : [`Excludes ${listed(excludes)}.`]),
    ...(preset === undefined ? [] : [`Default: \`${preset}\`.`]),
  ];
  return notes.length === 0 ? summary : [`${summary}.`, ...notes].join(" ");
}

function listed(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(", ");
}
