import * as z from "zod";

import { isError } from "../../documents/findings.ts";
import { EXIT, type Problem } from "../../platform/terminal.ts";
import { controlSocketPath, resolveFolders } from "../configuration/folders.ts";
import { askDaemon } from "../control/client.ts";
import { statusProblem } from "../states.ts";
import { isStatusDocument } from "../status.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";
import { daemonProblem, askRunningAgent, OTHER_AGENT } from "../control/running-agent.ts";
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

/** `reload`: makes the daemon apply edits now; fails and changes nothing when they are invalid. */
export const reload: Command<CommonOptions> = async (options, context) => {
  const { terminal } = context;
  const folders = resolveFolders(options, context.environment);
  const path = controlSocketPath(folders);
  const running = await askRunningAgent(folders, context);
  if ("fix" in running && running.code === OTHER_AGENT)
    return showProblem(running, { reloaded: false, findings: [] }, options, terminal);
  const answer = await askDaemon(path, "POST", "/reload", context.signal);
  if (answer.kind === "failed" || answer.kind === "not-running") {
    const what = answer.kind === "failed" ? answer.detail : "no agent answers";
    const problem = {
      code: "daemon-unreachable",
      what,
      where: path,
      fix: "start it, or see why it does not answer: robot-policy-agent status",
    };
    return showProblem(problem, { reloaded: false, findings: [] }, options, terminal);
  }
  const told = answer.kind === "answer" ? answerSchema.safeParse(answer.body).data : undefined;
  if (answer.kind !== "answer" || told === undefined)
    return showProblem(daemonProblem(answer, path), { reloaded: false, findings: [] }, options, terminal);
  const { reloaded, findings } = told;
  if (options.json === true) terminal.json(answer.body);
  else await showFindings(findings, context);
  const say = (text: string) => {
    if (options.json !== true) terminal.print(text);
  };
  if (!reloaded) {
    terminal.problem({
      code: "reload-refused",
      what: "an edit is invalid: the last valid configuration stays in force, and the last registration stays",
      fix: "correct the findings above, then: robot-policy-agent reload",
    });
    return EXIT.invalid;
  }
  if (findings.some(isError)) {
    say("Reloaded, but nothing is registered while a file is invalid");
    return EXIT.invalid;
  }
  const refusal = await askForRefusal(path, context);
  if (refusal !== null) {
    say("Reloaded, but nothing is registered");
    terminal.problem(refusal);
    return EXIT.conflict;
  }
  say("Reloaded");
  return EXIT.ok;
};

/** The problem when a valid edit changes the robot's identity. */
async function askForRefusal(path: string, { signal }: CommandContext): Promise<Problem | null> {
  const answer = await askDaemon(path, "GET", "/status", signal);
  if (answer.kind !== "answer" || !isStatusDocument(answer.body)) return null;
  const { state } = answer.body;
  return state === "other-name" || state === "other-machine" ? statusProblem(answer.body) : null;
}
