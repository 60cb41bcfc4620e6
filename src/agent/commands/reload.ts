import * as z from "zod";

import { isError } from "../../documents/findings.ts";
import { EXIT } from "../../platform/terminal.ts";
import { controlSocketPath, resolveFolders } from "../configuration/folders.ts";
import { askDaemon, askRunningAgent, daemonProblem, OTHER_AGENT } from "../control/client.ts";
import { statusProblem } from "../states.ts";
import type { Command, CommonOptions } from "./context.ts";
import { showFindings, showProblem } from "./show.ts";

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

const UNREACHABLE = {
  code: "daemon-unreachable",
  fix: "start it, or see why it does not answer: robot-policy-agent status",
} as const;
const REFUSED = {
  code: "reload-refused",
  what: "an edit is invalid: the last valid configuration stays in force, and the last registration stays",
  fix: "correct the findings above, then: robot-policy-agent reload",
} as const;

/** `reload`: makes the daemon apply edits now; fails and changes nothing when they are invalid. */
export const reload: Command<CommonOptions> = async (options, context) => {
  const { terminal } = context;
  const folders = resolveFolders(options, context.environment);
  const path = controlSocketPath(folders);
  const empty = { reloaded: false, findings: [] };
  const running = await askRunningAgent(folders, context);
  if ("fix" in running && running.code === OTHER_AGENT) return showProblem(running, empty, options, terminal);
  const answer = await askDaemon(path, "POST", "/reload", context.signal);
  if (answer.kind === "failed" || answer.kind === "not-running") {
    const what = answer.kind === "failed" ? answer.detail : "no agent answers";
    return showProblem({ ...UNREACHABLE, what, where: path }, empty, options, terminal);
  }
  const told = answer.kind === "answer" ? answerSchema.safeParse(answer.body).data : undefined;
  if (answer.kind !== "answer" || told === undefined)
    return showProblem(daemonProblem(answer, path), empty, options, terminal);
  const { reloaded, findings } = told;
  if (options.json === true) terminal.json(answer.body);
  else await showFindings(findings, context);
  const say = (text: string) => {
    if (options.json !== true) terminal.print(text);
  };
  if (!reloaded) {
    terminal.problem(REFUSED);
    return EXIT.invalid;
  }
  if (findings.some(isError)) {
    say("Reloaded, but nothing is registered while a file is invalid");
    return EXIT.invalid;
  }
  // A valid edit may change which robot this is.
  const status = await askRunningAgent(folders, context);
  const isRefused = "state" in status && (status.state === "other-name" || status.state === "other-machine");
  const refusal = isRefused ? statusProblem(status) : null;
  if (refusal !== null) {
    say("Reloaded, but nothing is registered");
    terminal.problem(refusal);
    return EXIT.conflict;
  }
  say("Reloaded");
  return EXIT.ok;
};
