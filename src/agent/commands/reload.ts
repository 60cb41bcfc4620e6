import { EXIT } from "../../platform/terminal.ts";
import * as z from "zod";

import { askDaemon } from "../control-client.ts";
import { controlSocketPath, resolveFolders } from "../folders.ts";
import type { Command, CommonOptions } from "./context.ts";
import { daemonProblem } from "./daemon-problem.ts";
import { hasError, showFindings } from "./show-findings.ts";
import { showProblem } from "./show-problem.ts";

const findingSchema = z.object({
  id: z.string(),
  severity: z.enum(["error", "warning"]),
  loc: z.string(),
  message: z.string(),
  file: z.string(),
  line: z.number(),
  column: z.number(),
});
const answerSchema = z.object({ reloaded: z.boolean(), findings: z.array(findingSchema) });

/** `reload`: has the daemon take over edits now; fails, and changes nothing, when they are bad. */
export const reload: Command<CommonOptions> = async (options, context) => {
  const { terminal } = context;
  const path = controlSocketPath(resolveFolders(options, context.environment));
  const answer = await askDaemon(path, "POST", "/reload", context.signal);
  context.signal.throwIfAborted();
  if (answer.kind === "denied")
    return showProblem(daemonProblem(answer, path), { reloaded: false, findings: [] }, options, terminal);
  if (answer.kind !== "answer") {
    const what = answer.kind === "failed" ? answer.detail : "no daemon runs";
    const problem = {
      code: "daemon-unreachable",
      what,
      where: path,
      fix: "start it, or see why it does not run: systemctl status robot-policy-agent",
    };
    return showProblem(problem, { reloaded: false, findings: [] }, options, terminal);
  }
  const { reloaded, findings } = answerSchema.parse(answer.body);
  if (options.json === true) terminal.json(answer.body);
  else await showFindings(findings, context);
  if (reloaded) {
    const is_whole = !hasError(findings);
    if (options.json !== true)
      terminal.print(is_whole ? "Reloaded" : "Reloaded, but nothing is registered while a file is wrong");
    return is_whole ? EXIT.ok : EXIT.invalid;
  }
  terminal.problem({
    code: "reload-refused",
    what: "an edit is bad: the last good configuration is in force, and the last registration stands",
    fix: "correct the findings above, then: robot-policy-agent reload",
  });
  return EXIT.invalid;
};
