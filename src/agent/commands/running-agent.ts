import type { Files } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { Folders } from "../configuration/folders.ts";
import { controlSocketPath } from "../configuration/folders.ts";
import type { ControlAnswer } from "../control/client.ts";
import { askDaemon } from "../control/client.ts";
import type { StatusDocument } from "../status.ts";
import { isStatusDocument } from "../status.ts";
import type { CommandContext } from "./context.ts";
import { daemonProblem } from "./daemon-problem.ts";

/** Code of the problem that the agent that answers is not the one that is meant. */
export const OTHER_AGENT = "other-agent";

/** The status of the agent that runs with these folders, or why it cannot be asked. @throws `signal.reason` when the signal aborts. */
export async function askRunningAgent(
  folders: Folders,
  { machine, signal }: Pick<CommandContext, "machine" | "signal">,
): Promise<StatusDocument | Problem> {
  const answer = await askDaemon(controlSocketPath(folders), "GET", "/status", signal);
  signal.throwIfAborted();
  return readRunningAgent(answer, folders, machine.files);
}

/** @param answer to `GET /status`. */
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
 * What a person asks about one configuration must not be answered, or done, by an agent that has another one.
 *
 * @returns null where the agent has these folders, or none runs.
 */
export async function findOtherFolders(
  { daemon }: StatusDocument,
  folders: Folders,
  files: Files,
): Promise<Problem | null> {
  const pairs = [
    ["configuration", daemon?.config_path, folders.config_path, "--config FILE"],
    ["state directory", daemon?.state_directory, folders.state_directory, "--state-dir DIR"],
  ] as const;
  for (const [what, theirs, ours, flag] of pairs) {
    if (theirs === undefined || (await isSameFile(files, theirs, ours))) continue;
    return {
      code: OTHER_AGENT,
      what: `the agent that runs here has another ${what}: ${theirs}`,
      where: ours,
      fix: `to speak to that agent: ${flag.replace(/[A-Z]+$/, theirs)}; to work beside it, give all of --config, --state-dir and --runtime-dir`,
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
