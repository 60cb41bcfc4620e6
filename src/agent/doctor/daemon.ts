import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import { askDaemon } from "../control-client.ts";
import type { Folders } from "../folders.ts";
import { controlSocketPath, hasStandardState } from "../folders.ts";
import type { StatusDocument } from "../status.ts";
import { exitCodeOf, isStatusDocument } from "../status.ts";
import { statusProblem } from "../status-problem.ts";
import type { Vantage } from "../vantage.ts";
import type { FailureCode, Verdict } from "./check.ts";
import { fail, ok, warn } from "./check.ts";
import { howToStart } from "./unit.ts";

/** The running agent, by what it says of itself through its control socket. */
export async function checkDaemon(
  { version }: CommandContext,
  folders: Folders,
  { unit }: Vantage,
  signal: AbortSignal,
): Promise<Verdict> {
  const path = controlSocketPath(folders);
  const answer = await askDaemon(path, "GET", "/status", signal);
  switch (answer.kind) {
    case "not-running":
      return warn(`no agent answers at ${path}; changes are not noticed`, howToStart(unit, hasStandardState(folders)));
    case "denied":
      return warn(`this user may not speak to the agent at ${path}`, howToJoin(folders));
    case "failed":
      return fail(EXIT.failed, `the agent does not answer: ${answer.detail}`, "systemctl restart robot-policy-agent");
    case "answer":
      break;
  }
  const { body } = answer;
  if (!isStatusDocument(body)) {
    const what = "the agent answers in another form: it is of another version";
    return warn(what, "systemctl restart robot-policy-agent");
  }
  if (body.daemon !== null && body.daemon.version !== version) {
    const what = `agent ${body.daemon.version} runs, but ${version} is installed`;
    return warn(what, "systemctl restart robot-policy-agent");
  }
  return judgeStatus(body);
}

function howToJoin(folders: Folders): string {
  if (!hasStandardState(folders)) return "run it as the agent's user";
  return "run it as root, or for good: sudo usermod -aG robot-policy-agent USER, and log in again";
}

function judgeStatus(status: StatusDocument): Verdict {
  const problem = statusProblem(status);
  if (problem === null && (status.healthy || status.state !== "registered")) return ok(status.summary);
  const { fix } = problem ?? { fix: "correct the edit: robot-policy-agent check" };
  const exit_code = failureOf(status);
  // Whether it still is unreachable the network checks know better: the agent waits up to five minutes before it looks again.
  if (exit_code === EXIT.unreachable) return warn(status.summary, "robot-policy-agent --setup tries again at once");
  return fail(exit_code, status.summary, fix);
}

function failureOf(status: StatusDocument): FailureCode {
  const code = exitCodeOf(status);
  switch (code) {
    case EXIT.invalid:
    case EXIT.unreachable:
    case EXIT.unauthorized:
    case EXIT.conflict:
      return code;
    default:
      return EXIT.failed;
  }
}
