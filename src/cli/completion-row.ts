import type { Terminal } from "../platform/terminal.ts";
import type { CommandRow, ProgramTable } from "./command-table.ts";

/** The command that prints the completion script of a shell. `table` is called when the command runs, because the row is a part of the table. */
export function completionRow(
  program: string,
  table: () => ProgramTable<never, never>,
): CommandRow<object, { readonly terminal: Terminal }> {
  return {
    name: "completion",
    summary: "print the completion script of a shell",
    argument: "SHELL",
    choices: ["bash", "zsh", "fish"],
    examples: [
      `source <(${program} completion bash)`,
      `${program} completion zsh > "\${fpath[1]}/_${program}"`,
      `${program} completion fish > ~/.config/fish/completions/${program}.fish`,
    ],
    load: async () => {
      const { printCompletion } = await import("./completion/completion.ts");
      return (_flags, { terminal }, shell) => printCompletion(table(), shell, terminal);
    },
  };
}
