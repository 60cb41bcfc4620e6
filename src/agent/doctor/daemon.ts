import type { Environment } from "../../client/transport/proxy.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { exists, type Files } from "../../platform/files/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { AgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import { findOtherFolders } from "../control/running-agent.ts";
import { controlSocketPath, type Folders, hasStandardState } from "../configuration/folders.ts";
import { askDaemon, type ControlAnswer } from "../control/client.ts";
import { enrolmentFix } from "../remedies.ts";
import { exitCodeOf, statusProblem } from "../states.ts";
import { isStatusDocument, type StatusDocument } from "../status.ts";
import { type Examined, fail, type FailureCode, ok, type Verdict, warn } from "./check.ts";
import { howToStart, type UnitFacts } from "./unit.ts";

/** The running agent, asked through its control socket. */
export async function checkDaemon(
  { version, machine }: CommandContext,
  folders: Folders,
  agentUser: AgentUser,
  signal: AbortSignal,
): Promise<Examined<StatusDocument>> {
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

/** Larger than any real environment. */
const ENVIRONMENT_LIMIT_BYTES = 1024 * 1024;

/**
 * The environment of the running agent: its proxy variables count, not those of this shell.
 *
 * @returns null when no agent runs, or this user may not read its environment.
 */
export async function readEnvironment(files: Files, status: StatusDocument | null): Promise<Environment | null> {
  const processId = status?.daemon?.process_id;
  if (!Number.isSafeInteger(processId)) return null;
  try {
    const bytes = await readBounded(files, `/proc/${processId}/environ`, ENVIRONMENT_LIMIT_BYTES);
    return bytes === "too-large" ? null : parseEnvironment(Buffer.from(bytes).toString("utf8"));
  } catch {
    // The process belongs to another user or just ended.
    return null;
  }
}

/** Parses proc_pid_environ(5): NAME=VALUE, each followed by a null byte. */
function parseEnvironment(text: string): Environment {
  const pairs = text.split("\0").flatMap((line) => {
    const at = line.indexOf("=");
    return at <= 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
  });
  return Object.fromEntries(pairs);
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
  if (problem === null && (status.healthy || status.state !== "registered")) return ok(status.summary);
  // What keeps it from its credential is shown by the checks of the way to the service, and at last by that of the authentication.
  if (status.state === "waiting-for-approval" && status.identity !== null)
    return warn(status.summary, enrolmentFix(status.identity, "the agent tries again by itself"));
  const { fix } = problem ?? { fix: "correct the edit: robot-policy-agent check" };
  const exitCode = failureOf(status);
  // Only a warning: the network checks are more current, because the agent retries every five minutes at most.
  if (exitCode === EXIT.unreachable) return warn(status.summary, "robot-policy-agent --setup tries again at once");
  return fail(exitCode, status.summary, fix);
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
