import { Command, Option } from "commander";

import { maskSecrets } from "../api/wire/service-key.ts";
import { nearest } from "../documents/nearest.ts";
import { EXIT, type Terminal } from "../platform/terminal.ts";
import { type CommandRow, type FlagRow, flagsOf, type ProgramTable } from "./command-table.ts";

/** The arguments after a command's name, without flags. */
export type Arguments = readonly (string | undefined)[];

/** The agent's longest command leaves 28 of 60 columns, as a pane of tmux may have; by default commander wraps only from 40. */
const HELP_WIDTHS = { minWidthToWrap: 20 };

/**
 * The program as commander parses it and shows its help.
 *
 * @param hint the help to refer to after an error. @param run called for the command that the arguments name.
 */
export function describeProgram<Flags extends object, Context>(
  table: ProgramTable<Flags, Context>,
  { version, terminal }: { readonly version: string; readonly terminal: Terminal },
  hint: string,
  run: (row: CommandRow<Flags, Context>, flags: Flags, words: Arguments, all: readonly string[]) => Promise<void>,
): Command {
  const program = emptyProgram(table, version, terminal, hint);
  for (const row of table.commands) addCommand(program, row, table, (...given) => run(row, ...given));
  arrangeHelp(program, table.headings ?? {});
  // Also accepted before the command's name.
  addFlags(program, table.common);
  return program;
}

/** Puts the commands under their headings, which come in the order of the commands. */
function arrangeHelp(program: Command, headings: Readonly<Record<string, readonly string[]>>): void {
  for (const [heading, names] of Object.entries(headings)) {
    for (const command of program.commands) {
      if (names.includes(command.name())) command.helpGroup(`${heading}:`);
    }
  }
}

function emptyProgram(table: ProgramTable<never, never>, version: string, terminal: Terminal, hint: string): Command {
  return new Command(table.name)
    .description(table.summary)
    .version(version, "-V, --version", "print the version")
    .helpCommand(false)
    .enablePositionalOptions()
    .showHelpAfterError(`(${hint})`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.printText(text.trimEnd()),
      writeErr(text) {
        for (const line of maskSecrets(text.trimEnd()).split("\n")) terminal.note(line);
      },
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
    })
    .configureHelp(HELP_WIDTHS)
    .addHelpText("after", examplesText(table.examples))
    .allowExcessArguments()
    .action((_flags: unknown, command: Command) => refuseArguments(command));
}

/** Reports a missing or unknown command, of the program or of a group. */
function refuseArguments(program: Command): never {
  const [word] = program.args;
  if (word === undefined) return program.help({ error: true });
  if (word.startsWith("-")) {
    const named = program.args.find((each) =>
      program.commands.some((command) => command.name() === each || command.aliases().includes(each)),
    );
    return refuse(program, named === undefined ? "no command is named" : `flags come after '${named}'`);
  }
  const names = program.commands.map((command) => command.name());
  return refuse(program, `unknown command '${word}'`, nearest(word, names));
}

function refuse(command: Command, what: string, meant?: string): never {
  const hint = meant === undefined ? "" : `\n(Did you mean ${meant}?)`;
  return command.error(`error: ${what}${hint}`, { exitCode: EXIT.usage });
}

function addCommand<Flags extends object, Context>(
  program: Command,
  row: CommandRow<Flags, Context>,
  table: ProgramTable<Flags, Context>,
  run: (flags: Flags, words: Arguments, all: readonly string[]) => Promise<void>,
): void {
  if (row.name.startsWith("--")) addFlagCommand(program, row, run);
  else addWordCommand(program, row, table, run);
}

/** `--setup` is a flag of the program itself. */
function addFlagCommand<Flags extends object, Context>(
  program: Command,
  row: CommandRow<Flags, Context>,
  run: (flags: Flags, words: Arguments, all: readonly string[]) => Promise<void>,
): void {
  addFlags(program, [{ flag: row.name, summary: row.summary }, ...(row.flags ?? [])]);
  program.action(async () => {
    const flags = program.opts<Flags & Record<string, unknown>>();
    refuseCombinations(program, program, row.flags ?? []);
    if (flags[row.name.slice(2)] !== true || program.args.length > 0) refuseArguments(program);
    await run(flags, [], []);
  });
}

function addWordCommand<Flags extends object, Context>(
  program: Command,
  row: CommandRow<Flags, Context>,
  { common, groups = {} }: ProgramTable<Flags, Context>,
  run: (flags: Flags, words: Arguments, all: readonly string[]) => Promise<void>,
): void {
  const command = nameCommand(program, row.name, groups).description(row.summary).allowExcessArguments(false);
  addFlags(command, flagsOf(row, common));
  for (const alias of row.aliases ?? []) command.alias(alias);
  const names = row.argument?.toLowerCase().split(" ") ?? [];
  for (const name of names) {
    const mayBe = name === names[0] ? (row.choices ?? []).join(", ") : "";
    command.argument(name.startsWith("[") ? name : `<${name}>`, mayBe);
  }
  if (row.examples.length > 0) command.addHelpText("after", examplesText(row.examples));
  command.action(async (...passed: readonly unknown[]) => {
    const words = names.map((_, index) => textAt(passed, index));
    const [argument] = words;
    refuseForeignFlags(program, command);
    refuseCombinations(program, command, flagsOf(row, common));
    if (row.choices !== undefined && argument !== undefined && !row.choices.includes(argument)) {
      const what = `'${argument}' is not one of ${row.choices.join(", ")}`;
      refuse(command, what, nearest(argument, row.choices));
    }
    // Flags before the command also count, with lower precedence.
    await run({ ...program.opts<Flags>(), ...command.opts<Flags>() }, words, command.args);
  });
}

function textAt(passed: readonly unknown[], index: number): string | undefined {
  const value = passed[index];
  return typeof value === "string" ? value : undefined;
}

/** `--setup check` names two commands; a flag that the command would ignore is an error too. */
function refuseForeignFlags(program: Command, command: Command): void {
  const own = new Set(command.options.map((option) => option.attributeName()));
  const foreign = program.options.find(
    (option) => !own.has(option.attributeName()) && program.getOptionValueSource(option.attributeName()) === "cli",
  );
  if (foreign === undefined) return;
  refuse(program, `option '${foreign.long ?? foreign.flags}' does not apply to the command '${command.name()}'`);
}

/** A flag that would be ignored without another one, or that contradicts another one. */
function refuseCombinations(program: Command, command: Command, rows: readonly FlagRow[]): void {
  const isGiven = (flag: string) =>
    [program, command].some((each) => {
      const option = each.options.find(({ long }) => long === flag);
      return option !== undefined && each.getOptionValueSource(option.attributeName()) === "cli";
    });
  for (const { flag, needs, excludes = [] } of rows) {
    const name = wordOf(flag);
    if (!isGiven(name)) continue;
    if (needs !== undefined && !isGiven(needs)) refuse(command, `${name} needs ${needs}`);
    const other = excludes.find(isGiven);
    if (other !== undefined) refuse(command, `${name} and ${other} exclude each other`);
  }
}

/** `--timeout` of `--timeout <time>`. */
function wordOf(flag: string): string {
  return flag.split(" ")[0] ?? flag;
}

function addFlags(command: Command, flags: readonly FlagRow[]): void {
  for (const { flag, summary, repeats, choices, required, default: preset } of flags) {
    const option = new Option(flag, summary).makeOptionMandatory(required === true);
    if (preset !== undefined) option.default(preset);
    if (choices !== undefined) option.choices(choices);
    if (repeats === true) option.argParser((value: string, before: readonly string[] = []) => [...before, value]);
    command.addOption(option);
  }
}

function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`;
}

/** `robots list` is the command `list` of the group `robots`. */
function nameCommand(program: Command, name: string, groups: Readonly<Record<string, string>>): Command {
  const [word = "", ...rest] = name.split(" ");
  if (rest.length === 0) return program.command(word);
  const known = program.commands.find((command) => command.name() === word);
  const group =
    known ??
    program
      .command(word)
      .helpCommand(false)
      .description(groups[word] ?? "")
      .allowUnknownOption()
      .allowExcessArguments()
      .action((_flags: unknown, command: Command) => refuseArguments(command));
  return nameCommand(group, rest.join(" "), groups);
}
