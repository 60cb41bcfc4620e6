import { Command, CommanderError, Option } from "commander";

import { nearest } from "../manifest/nearest.ts";
import { EXIT } from "../platform/terminal.ts";
import type { Problem } from "../platform/terminal.ts";
import { maskSecrets } from "../api/wire/service-key.ts";
import { flagsOf } from "./command-table.ts";
import type { CommandRow, FlagRow, ProgramTable } from "./command-table.ts";
import type { ProgramTerminal } from "./terminal.ts";

export interface RunOptions<Context> {
  readonly version: string;
  readonly terminal: ProgramTerminal;
  readonly signal: AbortSignal;
  readonly context: Context;
}

/** The arguments after a command's name, without flags. */
type Arguments = readonly (string | undefined)[];

/** What `--json` prints for a failure that was shown as findings, not as a problem. */
const TOLD_ON_STDERR: Problem = {
  code: "failed",
  what: "the command did not succeed",
  fix: "see what it wrote to stderr",
};

/**
 * Parses the arguments by the table and runs the command. With `--json` a failure is also printed on stdout as `{"problem": …}`, unless the
 * command printed a document of its own.
 *
 * @returns the exit code.
 * @throws only bugs; errors of the user are shown and have an exit code.
 */
export async function runProgram<Flags extends object, Context>(
  table: ProgramTable<Flags, Context>,
  words: readonly string[],
  options: RunOptions<Context>,
): Promise<number> {
  // `help keys create` is `keys create --help`.
  const argv = nameAlone(words[0] === "help" ? [...words.slice(1), "--help"] : words, table.alone ?? {});
  let exitCode: number = EXIT.ok;
  const hint = helpHint(table, argv);
  const program = describeProgram(table, options, hint);
  const action = (row: CommandRow<Flags, Context>) => async (flags: Flags, words: Arguments) => {
    const command = await row.load();
    exitCode = await command(flags, options.context, words[0], words[1]);
    const isJson = "json" in flags && flags.json === true;
    if (isJson && exitCode !== EXIT.ok) options.terminal.concludeJson(TOLD_ON_STDERR);
  };
  for (const row of rowsFor(argv, table.commands)) addCommand(program, row, table, action(row));
  arrangeHelp(program, table.headings ?? {});
  // Also accepted before the command's name.
  addFlags(program, table.common);
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (options.signal.aborted) exitCode = EXIT.interrupted;
    else if (!(error instanceof CommanderError)) throw error;
    // Commander throws for help and version, and for errors in the arguments.
    else if (error.exitCode === 0) exitCode = EXIT.ok;
    else {
      exitCode = EXIT.usage;
      if (argv.includes("--json")) options.terminal.concludeJson(usageProblem(error, hint));
    }
  }
  // After an interrupt, remove the progress bar and do not report a failure.
  options.terminal.progress("", 1);
  return options.signal.aborted && exitCode !== EXIT.ok ? EXIT.interrupted : exitCode;
}

/** The longest command leaves 35 of 80 columns; by default commander wraps only from 40. */
const HELP_WIDTHS = { minWidthToWrap: 30 };
const HELP: ReadonlySet<string> = new Set(["-h", "--help"]);

/** `contexts --json` is `contexts list --json`; help is of the whole group. */
function nameAlone(words: readonly string[], alone: Readonly<Record<string, string>>): readonly string[] {
  const [group = "", ...rest] = words;
  const command = Object.hasOwn(alone, group) ? alone[group] : undefined;
  if (command === undefined || rest[0]?.startsWith("-") === false) return words;
  return rest.some((word) => HELP.has(word)) ? words : [group, command, ...rest];
}

/** Puts the commands under their headings, which come in the order of the commands. */
function arrangeHelp(program: Command, headings: Readonly<Record<string, readonly string[]>>): void {
  for (const [heading, names] of Object.entries(headings)) {
    for (const command of program.commands) {
      if (names.includes(command.name())) command.helpGroup(`${heading}:`);
    }
  }
}

/** The help to refer to: of the command, its group, or the program. */
function helpHint<Flags, Context>({ name, commands }: ProgramTable<Flags, Context>, argv: readonly string[]): string {
  const names = commands.map((row) => row.name);
  const command = [2, 1].map((length) => argv.slice(0, length).join(" ")).find((words) => names.includes(words));
  if (command !== undefined) return `${name} ${command} --help lists its flags`;
  const group = names.some((each) => each.startsWith(`${argv[0]} `)) ? ` ${argv[0]}` : "";
  return `${name}${group} --help lists commands and flags`;
}

function usageProblem({ code, message }: CommanderError, fix: string): Problem {
  const what = code === "commander.help" ? "no command is named" : message.replace(/^error: /, "");
  return { code: "usage", what, fix };
}

/** When the first word names a command, only that one is described, which saves a tenth of the daemon's start. */
function rowsFor<Row extends { readonly name: string }>(
  [word]: readonly string[],
  rows: readonly Row[],
): readonly Row[] {
  const chosen = rows.filter(({ name }) => name.startsWith("--") || name.split(" ")[0] === word);
  return chosen.some(({ name }) => !name.startsWith("--")) ? chosen : rows;
}

function describeProgram<Flags, Context>(
  table: ProgramTable<Flags, Context>,
  { version, terminal }: RunOptions<Context>,
  hint: string,
): Command {
  return new Command(table.name)
    .description(table.summary)
    .version(version, "-V, --version", "print the version")
    .helpCommand(false)
    .enablePositionalOptions()
    .showHelpAfterError(`(${hint})`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(maskSecrets(text.trimEnd())),
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
    })
    .configureHelp(HELP_WIDTHS)
    .addHelpText("after", examplesText(table.examples))
    .allowExcessArguments()
    .action((_flags: unknown, command: Command) => refuseArguments(command));
}

/** Reports a missing or unknown command. */
function refuseArguments(program: Command): never {
  const [word] = program.args;
  if (word === undefined) return program.help({ error: true });
  return refuse(program, `unknown command '${word}'`, nearest(word, commandNames(program)));
}

function commandNames(program: Command): readonly string[] {
  return program.commands.map((command) => command.name());
}

function refuse(command: Command, what: string, meant?: string): never {
  const hint = meant === undefined ? "" : `\n(Did you mean ${meant}?)`;
  return command.error(`error: ${what}${hint}`, { exitCode: EXIT.usage });
}

function addCommand<Flags extends object, Context>(
  program: Command,
  row: CommandRow<Flags, Context>,
  table: ProgramTable<Flags, Context>,
  run: (flags: Flags, words: Arguments) => Promise<void>,
): void {
  if (row.name.startsWith("--")) addFlagCommand(program, row, run);
  else addWordCommand(program, row, table, run);
}

/** `--setup` is a flag of the program itself. */
function addFlagCommand<Flags extends object, Context>(
  program: Command,
  row: CommandRow<Flags, Context>,
  run: (flags: Flags, words: Arguments) => Promise<void>,
): void {
  addFlags(program, [{ flag: row.name, summary: row.summary }, ...row.flags]);
  program.action(async () => {
    const flags = program.opts<Flags & Record<string, unknown>>();
    if (flags[row.name.slice(2)] !== true || program.args.length > 0) refuseArguments(program);
    await run(flags, []);
  });
}

function addWordCommand<Flags extends object, Context>(
  program: Command,
  row: CommandRow<Flags, Context>,
  { common, groups = {} }: ProgramTable<Flags, Context>,
  run: (flags: Flags, words: Arguments) => Promise<void>,
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
    if (row.choices !== undefined && argument !== undefined && !row.choices.includes(argument)) {
      const what = `'${argument}' is not one of ${row.choices.join(", ")}`;
      refuse(command, what, nearest(argument, row.choices));
    }
    // Flags before the command also count, with lower precedence.
    await run({ ...program.opts<Flags>(), ...command.opts<Flags>() }, words);
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

function addFlags(command: Command, flags: readonly FlagRow[]): void {
  for (const { flag, summary, repeats, choices, required, default: preset, hidden } of flags) {
    const option = new Option(flag, summary).makeOptionMandatory(required === true);
    if (preset !== undefined) option.default(preset);
    if (choices !== undefined) option.choices(choices);
    if (hidden === true) option.hideHelp();
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
      .description(groups[word] ?? "");
  return nameCommand(group, rest.join(" "), groups);
}
