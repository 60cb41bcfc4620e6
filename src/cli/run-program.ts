import { Argument, Command, CommanderError, Option } from "commander";

import { maskSecrets } from "../api/wire/service-key.ts";
import { nearest } from "../documents/nearest.ts";
import { EXIT, type Problem, type Terminal } from "../platform/terminal.ts";
import { type CommandRow, type FlagRow, type ProgramTable, repeatFlags, wordOf } from "./command-table.ts";
import { COMPLETE, complete } from "./completion.ts";
import type { ProgramTerminal } from "./terminal.ts";

export interface RunOptions<Context> {
  readonly version: string;
  readonly terminal: ProgramTerminal;
  readonly signal: AbortSignal;
  readonly context: Context;
}

/** What `--json` prints for a failure that was shown as findings, not as a problem. */
const TOLD_ON_STDERR: Problem = {
  code: "failed",
  what: "the command did not succeed",
  fix: "see what it wrote to stderr",
};

/**
 * Parses the arguments by the table and runs the command. With `--json` a failure is also printed on stdout as `{"problem": …}`, unless the
 * command printed a document of its own or was interrupted.
 *
 * @returns the exit code.
 * @throws only bugs; errors of the user are shown and have an exit code.
 */
export async function runProgram<Flags extends object, Context>(
  table: ProgramTable<Flags, Context>,
  words: readonly string[],
  { version, terminal, signal, context }: RunOptions<Context>,
): Promise<number> {
  if (words[0] === COMPLETE) return complete(table, words.slice(1), context, terminal);
  // `help keys create` is `keys create --help`.
  const argv = words[0] === "help" ? [...words.slice(1), "--help"] : words;
  let exitCode: number = EXIT.ok;

  async function run(row: CommandRow<Flags, Context>, flags: Flags, words: readonly string[]): Promise<void> {
    const command = await row.load();
    terminal.completeHints(repeatFlags(table, flags));
    exitCode = await command(flags, context, words[0], words[1], words);
    const isJson = "json" in flags && flags.json === true;
    if (isJson && exitCode !== EXIT.ok && !signal.aborted) terminal.concludeJson(TOLD_ON_STDERR);
  }

  try {
    await describeProgram(table, version, terminal, run).parseAsync(argv, { from: "user" });
  } catch (error) {
    if (signal.aborted) exitCode = EXIT.interrupted;
    else if (!(error instanceof CommanderError)) throw error;
    // Commander throws for help and version, and for errors in the arguments.
    else if (error.exitCode === 0) exitCode = EXIT.ok;
    else {
      exitCode = EXIT.usage;
      if (argv.includes("--json")) terminal.concludeJson(usageProblem(error, table.name));
    }
  }
  // After an interrupt, remove the progress bar and do not report a failure.
  terminal.progress("", 1);
  return signal.aborted && exitCode !== EXIT.ok ? EXIT.interrupted : exitCode;
}

function usageProblem({ code, message }: CommanderError, program: string): Problem {
  const what = code === "commander.help" ? "no command is named" : message.replace(/^error: /, "");
  return { code: "usage", what, fix: `${program} --help lists commands and flags` };
}

type Run<Flags, Context> = (row: CommandRow<Flags, Context>, flags: Flags, words: readonly string[]) => Promise<void>;

/** The agent's longest command leaves 28 of 60 columns, as a pane of tmux may have; by default commander wraps only from 40. */
const HELP_WIDTHS = { minWidthToWrap: 20 };

/** The program as commander parses it and shows its help. @param run called for the command that the arguments name. */
function describeProgram<Flags extends object, Context>(
  table: ProgramTable<Flags, Context>,
  version: string,
  terminal: Terminal,
  run: Run<Flags, Context>,
): Command {
  const program = new Command(table.name)
    .description(table.summary)
    .version(version, "-V, --version", "print the version")
    .helpCommand(false)
    .enablePositionalOptions()
    .showHelpAfterError(`(${table.name} --help lists commands and flags)`)
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
    .addHelpText("after", examplesText(table.examples));
  for (const row of table.commands) {
    if (row.name.startsWith("--")) addFlagCommand(program, row, run);
    else addWordCommand(program, row, table, run);
  }
  // The headings come in the order of the commands.
  for (const [heading, names] of Object.entries(table.headings ?? {})) {
    for (const command of program.commands) {
      if (names.includes(command.name())) command.helpGroup(`${heading}:`);
    }
  }
  // Also accepted before the command's name.
  addFlags(program, table.common);
  return program;
}

/** `--setup` is a flag of the program itself. */
function addFlagCommand<Flags extends object, Context>(
  program: Command,
  row: CommandRow<Flags, Context>,
  run: Run<Flags, Context>,
): void {
  addFlags(program, [{ flag: row.name, summary: row.summary }, ...(row.flags ?? [])]);
  program.allowExcessArguments().action(async () => {
    const [word] = program.args;
    const meant =
      word === undefined
        ? undefined
        : nearest(
            word,
            program.commands.map((each) => each.name()),
          );
    if (word !== undefined)
      refuse(program, `unknown command '${word}'${meant === undefined ? "" : `\n(Did you mean ${meant}?)`}`);
    refuseCombinations(program, program, row.flags ?? []);
    if (!isGiven(program, row.name)) program.help({ error: true });
    await run(row, program.opts<Flags>(), []);
  });
}

function addWordCommand<Flags extends object, Context>(
  program: Command,
  row: CommandRow<Flags, Context>,
  { name: programName, common, groups = {} }: ProgramTable<Flags, Context>,
  run: Run<Flags, Context>,
): void {
  const [word = "", below] = row.name.split(" ");
  const command = (below === undefined ? program : groupOf(program, word, groups))
    .command(below ?? word, { isDefault: row.isDefault === true })
    .description(row.summary)
    .allowExcessArguments(false)
    .showHelpAfterError(`(${programName} ${row.name} --help lists its flags)`)
    .addHelpText("after", examplesText(row.examples));
  const flags = [...(row.flags ?? []), ...common];
  addFlags(command, flags);
  for (const alias of row.aliases ?? []) command.alias(alias);
  for (const [index, name] of (row.argument?.toLowerCase().split(" ") ?? []).entries()) {
    const argument = new Argument(name.startsWith("[") ? name : `<${name}>`);
    command.addArgument(index === 0 && row.choices !== undefined ? argument.choices(row.choices) : argument);
  }
  command.action(async () => {
    refuseForeignFlags(program, command);
    refuseCombinations(program, command, flags);
    // Flags before the command also count, with lower precedence.
    await run(row, { ...program.opts<Flags>(), ...command.opts<Flags>() }, command.args);
  });
}

/** `robots list` is the command `list` of the group `robots`. */
function groupOf(program: Command, word: string, groups: Readonly<Record<string, string>>): Command {
  const known = program.commands.find((command) => command.name() === word);
  return (
    known ??
    program
      .command(word)
      .helpCommand(false)
      .description(groups[word] ?? "")
      .showHelpAfterError(`(${program.name()} ${word} --help lists commands and flags)`)
  );
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

/** `--setup check` names two commands; a flag that the command would ignore is an error too. */
function refuseForeignFlags(program: Command, command: Command): void {
  const own = new Set(command.options.map(({ long }) => long));
  const foreign = program.options.find(({ long }) => !own.has(long) && isGiven(program, long));
  if (foreign === undefined) return;
  refuse(command, `option '${foreign.long}' does not apply to the command '${command.name()}'`);
}

/** A flag that would be ignored without another one, or that contradicts another one. */
function refuseCombinations(program: Command, command: Command, rows: readonly FlagRow[]): void {
  const has = (flag: string) => isGiven(program, flag) || isGiven(command, flag);
  for (const row of rows.filter((each) => has(wordOf(each)))) {
    const { needs, excludes = [] } = row;
    if (needs !== undefined && !has(needs)) refuse(command, `${wordOf(row)} needs ${needs}`);
    const other = excludes.find(has);
    if (other !== undefined) refuse(command, `${wordOf(row)} and ${other} exclude each other`);
  }
}

function isGiven(command: Command, flag: string | undefined): boolean {
  const option = command.options.find(({ long }) => long === flag);
  return option !== undefined && command.getOptionValueSource(option.attributeName()) === "cli";
}

function refuse(command: Command, what: string): never {
  return command.error(`error: ${what}`, { exitCode: EXIT.usage });
}

function examplesText(examples: readonly string[]): string {
  return examples.length === 0 ? "" : `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`;
}
