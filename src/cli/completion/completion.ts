/**
 * Shell completion, generated from the same rows that commander parses: description.ts turns the rows into a description for all shells,
 * and one file per shell renders its script.
 */
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import type { ProgramTable } from "../command-table.ts";
import { bashCompletion } from "./bash.ts";
import { describeCompletion } from "./description.ts";
import { fishCompletion } from "./fish.ts";
import { zshCompletion } from "./zsh.ts";

const RENDERERS = [
  ["bash", bashCompletion],
  ["zsh", zshCompletion],
  ["fish", fishCompletion],
] as const;

/** The script of every shell. */
export function completionScripts(table: ProgramTable<never, never>): ReadonlyMap<"bash" | "zsh" | "fish", string> {
  const completion = describeCompletion(table);
  return new Map(RENDERERS.map(([shell, render]) => [shell, `${render(completion)}\n`]));
}

/** The command `completion SHELL`: prints the shell's script. */
export async function printCompletion(
  table: ProgramTable<never, never>,
  shell: string | undefined,
  terminal: Terminal,
): Promise<ExitCode> {
  const render = RENDERERS.find(([each]) => each === shell)?.[1];
  if (render === undefined) return EXIT.usage;
  terminal.printText(render(describeCompletion(table)));
  return EXIT.ok;
}
