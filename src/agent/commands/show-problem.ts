import { maskProblem } from "../../manifest/secrets.ts";
import type { Problem, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";

/**
 * Shows what ended a command before it had a result: to a person, and with `--json` on stdout as well, as member `problem` of what the
 * command prints when it has nothing to tell.
 */
export function showProblem(
  problem: Problem,
  empty: Readonly<Record<string, unknown>>,
  options: { readonly json?: boolean },
  terminal: Terminal,
): typeof EXIT.failed {
  if (options.json === true) terminal.json({ ...empty, problem: maskProblem(problem) });
  terminal.problem(problem);
  return EXIT.failed;
}
