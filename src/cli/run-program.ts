import { CommanderError } from "commander";

import { EXIT, type Problem } from "../platform/terminal.ts";
import { type CommandRow, type FlagRow, type ProgramTable, repeatFlags } from "./command-table.ts";
import { COMPLETE, complete } from "./completion.ts";
import { type Arguments, describeProgram } from "./describe-program.ts";
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
  options: RunOptions<Context>,
): Promise<number> {
  if (words[0] === COMPLETE) return complete(table, words.slice(1), options.context, options.terminal);
  // `help keys create` is `keys create --help`.
  const given = words[0] === "help" ? [...words.slice(1), "--help"] : words;
  const start = nameStart(given, table.common);
  const named = nameCommand(given.slice(start), table);
  const argv = [...given.slice(0, start), ...named];
  let exitCode: number = EXIT.ok;
  const hint = helpHint(table, named);

  async function run(
    row: CommandRow<Flags, Context>,
    flags: Flags,
    words: Arguments,
    all: readonly string[],
  ): Promise<void> {
    const command = await row.load();
    options.terminal.completeHints(repeatFlags(table, flags));
    exitCode = await command(flags, options.context, words[0], words[1], all);
    const isJson = "json" in flags && flags.json === true;
    if (isJson && exitCode !== EXIT.ok && !options.signal.aborted) options.terminal.concludeJson(TOLD_ON_STDERR);
  }

  const program = describeProgram({ ...table, commands: rowsFor(argv, table.commands) }, options, hint, run);
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

const HELP: ReadonlySet<string> = new Set(["-h", "--help"]);

/** The index of the command's name, which flags of every command may precede. */
function nameStart(words: readonly string[], common: readonly FlagRow[]): number {
  let index = 0;
  while (words[index]?.startsWith("-") === true) {
    const takesValue = common.some(({ flag }) => flag.startsWith(`${words[index]} <`));
    index += takesValue ? 2 : 1;
  }
  return index;
}

/** `contexts --json` is `contexts list --json`; help is of the whole group, and of an unknown command there is none. */
function nameCommand<Flags, Context>(
  words: readonly string[],
  { commands, alone = {} }: ProgramTable<Flags, Context>,
): readonly string[] {
  const [first = "-", second = "-"] = words;
  const others = words.filter((word) => !HELP.has(word));
  if (others.length < words.length) return isKnown(first, second, commands) ? words : others;
  const command = Object.hasOwn(alone, first) ? alone[first] : undefined;
  return command === undefined || !second.startsWith("-") ? words : [first, command, ...words.slice(1)];
}

/** Whether these words name a command, a group, or nothing, where a flag is no word. */
function isKnown(
  first: string,
  second: string,
  rows: readonly Pick<CommandRow<never, never>, "name" | "aliases">[],
): boolean {
  if (first.startsWith("-")) return true;
  return rows.some(({ name, aliases = [] }) => {
    const [group, command] = name.split(" ");
    return (
      group === first && (command === undefined || second.startsWith("-") || [command, ...aliases].includes(second))
    );
  });
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

/** When the first word names a command, only that one is described, which saves milliseconds of each start. */
function rowsFor<Row extends { readonly name: string }>(
  [word]: readonly string[],
  rows: readonly Row[],
): readonly Row[] {
  const chosen = rows.filter(({ name }) => name.startsWith("--") || name.split(" ")[0] === word);
  return chosen.some(({ name }) => !name.startsWith("--")) ? chosen : rows;
}
