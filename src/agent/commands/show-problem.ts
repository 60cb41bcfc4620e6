import { maskProblem } from "../../manifest/secrets.ts";
import type { Problem, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";

/**
 * Shows a problem that ended a command without a result. With `--json` also prints it on stdout, as member `problem` of the command's
 * empty document.
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
