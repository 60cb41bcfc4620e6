import { isError } from "../../documents/findings.ts";
import { EXIT } from "../../platform/terminal.ts";
import { controlSocketPath, resolveFolders } from "../configuration/folders.ts";
import { askDaemon, askRunningAgent, daemonProblem, NO_SOCKET } from "../control/client.ts";
import { statusProblem } from "../states.ts";
import type { Command, CommonOptions } from "./context.ts";
import { showFindings, showProblem } from "./show.ts";

const UNREACHABLE = {
  code: "daemon-unreachable",
  what: "no agent answers",
  fix: "start it, or see why it does not answer: robot-policy-agent status",
} as const;
const REFUSED = {
  code: "reload-refused",
  what: "an edit is invalid: the last valid configuration stays in force, and the last registration stays",
  fix: "correct the findings above, then: robot-policy-agent reload",
} as const;
const NOTHING = { reloaded: false, findings: [] };

/** `reload`: makes the daemon apply edits now; fails and changes nothing when they are invalid. */
export const reload: Command<CommonOptions> = async (options, context) => {
  const { terminal, signal } = context;
  const folders = resolveFolders(options, context.environment);
  const where = controlSocketPath(folders);
  const running = await askRunningAgent(folders, context);
  if ("fix" in running)
    return showProblem(running.code === NO_SOCKET ? { ...UNREACHABLE, where } : running, NOTHING, options, terminal);
  const answer = await askDaemon(where, "POST", "/reload", signal);
  if (answer.kind !== "answer" || (answer.status !== 200 && answer.status !== 422))
    return showProblem(daemonProblem(answer, where), NOTHING, options, terminal);
  const status = await askRunningAgent(folders, context);
  if ("fix" in status) return showProblem(status, NOTHING, options, terminal);
  const isReloaded = answer.status === 200;
  const { findings, state } = status;
  if (options.json === true) terminal.json({ reloaded: isReloaded, findings });
  else await showFindings(findings, context);
  if (!isReloaded) {
    terminal.problem(REFUSED);
    return EXIT.invalid;
  }
  const say = (text: string) => {
    if (options.json !== true) terminal.print(text);
  };
  if (findings.some(isError)) {
    say("Reloaded, but nothing is registered while a file is invalid");
    return EXIT.invalid;
  }
  // A valid edit may change which robot this is.
  const refusal = state === "other-name" || state === "other-machine" ? statusProblem(status) : null;
  if (refusal !== null) {
    say("Reloaded, but nothing is registered");
    terminal.problem(refusal);
    return EXIT.conflict;
  }
  say("Reloaded");
  return EXIT.ok;
};
