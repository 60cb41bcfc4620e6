import { exists, type Files } from "../../platform/files/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { AgentUser } from "../access/agent-user.ts";
import { controlSocketPath, type Folders, hasStandardState } from "../configuration/folders.ts";
import { askDaemon, type ControlAnswer, findOtherFolders } from "../control/client.ts";
import { enrolmentFix } from "../remedies.ts";
import { exitCodeOf, statusProblem } from "../states.ts";
import { isStatusDocument, type StatusDocument } from "../status.ts";
import { fail, type Found, ok, type Subject, type Verdict, warn } from "./check.ts";
import { howToStart, type UnitFacts } from "./unit.ts";

/** The running agent, asked through its control socket. */
export async function checkDaemon(
  { context: { version, machine }, folders, agentUser }: Subject,
  signal: AbortSignal,
): Promise<Found<StatusDocument>> {
  const answer = await askDaemon(controlSocketPath(folders), "GET", "/status", signal);
  const value = answer.kind === "answer" && isStatusDocument(answer.body) ? answer.body : null;
  const other = value === null ? null : await findOtherFolders(value, folders, machine.files);
  if (other !== null) return warn(other.what, other.fix);
  const facts = await unitFacts(folders, machine.files);
  return { verdict: judgeDaemon(answer, version, folders, agentUser, facts), value };
}

export async function unitFacts(folders: Folders, files: Files): Promise<UnitFacts> {
  const hasConfiguration = await exists(files, folders.configPath);
  return { isOfTheseFolders: hasStandardState(folders), hasConfiguration };
}

function judgeDaemon(
  answer: ControlAnswer,
  version: string,
  folders: Folders,
  { unit }: AgentUser,
  facts: UnitFacts,
): Verdict {
  const path = controlSocketPath(folders);
  switch (answer.kind) {
    case "not-running":
      return warn(`no agent answers at ${path}; changes are not noticed`, howToStart(unit, facts));
    case "denied":
      return warn(`this user may not use the control socket ${path}`, howToJoin(folders));
    case "failed":
      return fail(EXIT.failed, `the agent does not answer: ${answer.detail}`, "systemctl restart robot-policy-agent");
    case "answer":
      break;
  }
  const { body } = answer;
  if (!isStatusDocument(body)) {
    const what = "the agent's answer has another format: it runs another version";
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
  return "run it as root, or permanently: sudo usermod -aG robot-policy-agent USER, and log in again";
}

function judgeStatus(status: StatusDocument): Verdict {
  const problem = statusProblem(status);
  const dispute = status.findings.find(({ id }) => id === "replaced");
  if (problem === null && dispute !== undefined)
    return warn(dispute.message, "check the list of robots at the service");
  const polling = status.watching?.mode === "polling" ? status.watching.reason : null;
  if (problem === null && polling !== null) {
    const what = `${status.summary}, but the agent polls: ${polling}`;
    return warn(what, "changes are seen within watch.poll_s; at once, when inotify can watch them");
  }
  if (problem === null && (status.healthy || status.state !== "registered")) return ok(status.summary);
  // What keeps it from its credential is shown by the checks of the way to the service, and at last by that of the authentication.
  if (status.state === "waiting-for-approval" && status.identity !== null)
    return warn(status.summary, enrolmentFix(status.identity, "the agent tries again by itself"));
  const { fix } = problem ?? { fix: "correct the edit: robot-policy-agent check" };
  // Only a warning: the network checks are more current, because the agent retries every five minutes at most.
  if (exitCodeOf(status) === EXIT.unreachable)
    return warn(status.summary, "robot-policy-agent --setup tries again at once");
  // The check that finds the same gives the exit code of its kind.
  return fail(EXIT.failed, status.summary, fix);
}
