import type { Files } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import { controlSocketPath, type Folders } from "../configuration/folders.ts";
import { isStatusDocument, type StatusDocument } from "../status.ts";
import { askDaemon, type ControlAnswer } from "./client.ts";

/** Problem code: the running agent has other folders than this command. */
export const OTHER_AGENT = "other-agent";

/** The status of the agent with these folders, or why it cannot be asked. @throws `signal.reason` when the signal aborts. */
export async function askRunningAgent(
  folders: Folders,
  { machine, signal }: Pick<CommandContext, "machine" | "signal">,
): Promise<StatusDocument | Problem> {
  const answer = await askDaemon(controlSocketPath(folders), "GET", "/status", signal);
  return readRunningAgent(answer, folders, machine.files);
}

/** @param answer the answer to `GET /status`. */
export async function readRunningAgent(
  answer: ControlAnswer,
  folders: Folders,
  files: Files,
): Promise<StatusDocument | Problem> {
  if (answer.kind !== "answer" || !isStatusDocument(answer.body))
    return daemonProblem(answer, controlSocketPath(folders));
  return (await findOtherFolders(answer.body, folders, files)) ?? answer.body;
}

/**
 * Refuses to ask an agent that runs with other folders than this command.
 *
 * @returns null when the agent has these folders, or none runs.
 */
export async function findOtherFolders(
  { daemon }: StatusDocument,
  folders: Folders,
  files: Files,
): Promise<Problem | null> {
  const pairs = [
    ["configuration", daemon?.config_path, folders.configPath, "--config FILE"],
    ["state directory", daemon?.state_directory, folders.stateDirectory, "--state-dir DIR"],
  ] as const;
  for (const [what, theirs, ours, flag] of pairs) {
    if (theirs === undefined || (await isSameFile(files, theirs, ours))) continue;
    return {
      code: OTHER_AGENT,
      what: `the running agent has another ${what}: ${theirs}`,
      where: ours,
      fix: `to use that agent: ${flag.replace(/[A-Z]+$/, theirs)}; to run a second agent, give all of --config, --state-dir and --runtime-dir`,
    };
  }
  return null;
}

async function isSameFile(files: Files, one: string, other: string): Promise<boolean> {
  if (one === other) return true;
  try {
    const [first, second] = await Promise.all([files.stat(one), files.stat(other)]);
    return first.device === second.device && first.inode === second.inode;
  } catch {
    return false;
  }
}

/** Problem code: no daemon answers on the control socket. */
export const NO_SOCKET = "already-running";

/** The problem for a daemon that cannot be asked or gives an unexpected answer. */
export function daemonProblem(answer: ControlAnswer, path: string): Problem {
  const problem = (code: string, what: string, fix: string): Problem => ({ code, what, where: path, fix });
  switch (answer.kind) {
    case "denied":
      return problem(
        "daemon-denied",
        "a daemon runs, but this user may not use its control socket",
        "run it as root, or permanently: sudo usermod -aG robot-policy-agent USER, and log in again",
      );
    case "not-running":
      return problem(
        NO_SOCKET,
        "another agent or command uses the state directory, and no agent answers on this control socket",
        "wait for the other command to end; for an agent with another socket give its --runtime-dir",
      );
    case "failed":
      return problem("daemon-failed", answer.detail, "look at its log: journalctl -u robot-policy-agent");
    case "answer": {
      const { status } = answer;
      if (status === 429) {
        const what = "the agent takes no more requests for now";
        return problem(
          "asked-too-often",
          what,
          "try again in some seconds; see what it does: robot-policy-agent status",
        );
      }
      const what = `unexpected answer ${status} of the daemon`;
      return problem("daemon-failed", what, "restart it, so that it runs the same version");
    }
  }
}
