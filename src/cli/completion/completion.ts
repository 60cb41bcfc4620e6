/**
 * Shell completion, generated from the same rows that commander parses: description.ts turns the rows into a description for all shells,
 * and one file per shell renders its script.
 */
import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import type { ProgramTable } from "../command-table.ts";
import { bashCompletion } from "./bash.ts";
import { describeCompletion } from "./description.ts";
import { fishCompletion } from "./fish.ts";
import { zshCompletion } from "./zsh.ts";

/** The script of every shell that has one. */
export function completionScripts(table: ProgramTable<never, never>): ReadonlyMap<"bash" | "zsh" | "fish", string> {
  const completion = describeCompletion(table);
  return new Map([
    ["bash", `${bashCompletion(completion)}\n`],
    ["zsh", `${zshCompletion(completion)}\n`],
    ["fish", `${fishCompletion(completion)}\n`],
  ]);
}

/** The command `completion SHELL`: the shell's script, on stdout. */
export async function printCompletion(
  table: ProgramTable<never, never>,
  shell: string | undefined,
  terminal: Terminal,
): Promise<ExitCode> {
  const completion = describeCompletion(table);
  switch (shell) {
    case "bash":
      terminal.print(bashCompletion(completion));
      return EXIT.ok;
    case "zsh":
      terminal.print(zshCompletion(completion));
      return EXIT.ok;
    case "fish":
      terminal.print(fishCompletion(completion));
      return EXIT.ok;
  }
  return EXIT.usage;
}
