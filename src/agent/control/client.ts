/** Requests to the running agent through its control socket, and what is wrong where it does not answer. */
import { request as httpRequest } from "node:http";

import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import { controlSocketPath, type Folders } from "../configuration/folders.ts";
import { isStatusDocument, type StatusDocument } from "../status.ts";

export type ControlAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly body: unknown }
  /** No daemon listens on this socket. */
  | { readonly kind: "not-running" }
  | { readonly kind: "denied" }
  | { readonly kind: "failed"; readonly detail: string };

/** A registration waits for files to settle, for many GB to be hashed, and for the whole request timeout. */
const WORK_TIMEOUT_MS = 300_000;
/** GET requests are answered from memory. A daemon that takes longer hangs, and the watchdog restarts it within a minute. */
const QUESTION_TIMEOUT_MS = 5000;
const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;

/** Sends a request to the running daemon. @throws `signal.reason` when the signal aborts. */
export async function askDaemon(
  socketPath: string,
  method: "GET" | "POST",
  path: string,
  signal: AbortSignal,
): Promise<ControlAnswer> {
  const limitMs = method === "GET" ? QUESTION_TIMEOUT_MS : WORK_TIMEOUT_MS;
  const { promise, resolve } = Promise.withResolvers<ControlAnswer>();
  const fail = (error: Error) => resolve(describe(error));
  const request = httpRequest({ socketPath, method, path, signal, agent: false }, (response) => {
    const chunks: Buffer[] = [];
    let length = 0;
    response.on("data", (chunk: Buffer) => {
      length += chunk.byteLength;
      if (length > ANSWER_LIMIT_BYTES) response.destroy(new Error("the daemon's answer is too long"));
      else chunks.push(chunk);
    });
    response.on("end", () => resolve(decode(response.statusCode ?? 0, Buffer.concat(chunks))));
    response.on("error", fail);
  });
  request.on("error", fail);
  request.end();
  const limit = setTimeout(() => request.destroy(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
  const answered = await promise;
  clearTimeout(limit);
  signal.throwIfAborted();
  return answered;
}

/** The status of the agent with these folders, or why it cannot be asked. @throws `signal.reason` when the signal aborts. */
export async function askRunningAgent(
  folders: Folders,
  { machine, signal }: Pick<CommandContext, "machine" | "signal">,
): Promise<StatusDocument | Problem> {
  const answer = await askDaemon(controlSocketPath(folders), "GET", "/status", signal);
  return readRunningAgent(answer, folders, machine.files);
}

/** @param answer an answer with a status. */
export async function readRunningAgent(
  answer: ControlAnswer,
  folders: Folders,
  files: Files,
): Promise<StatusDocument | Problem> {
  if (answer.kind !== "answer" || !isStatusDocument(answer.body))
    return daemonProblem(answer, controlSocketPath(folders));
  return (await findOtherFolders(answer.body, folders, files)) ?? answer.body;
}

/** Problem code: the running agent has other folders than this command. */
export const OTHER_AGENT = "other-agent";

/** @returns null when the agent has the folders of this command. */
async function findOtherFolders({ daemon }: StatusDocument, folders: Folders, files: Files): Promise<Problem | null> {
  const pairs = [
    ["configuration", daemon?.config_path, folders.configPath, "--config"],
    ["state directory", daemon?.state_directory, folders.stateDirectory, "--state-dir"],
  ] as const;
  for (const [what, theirs, ours, flag] of pairs) {
    if (theirs === undefined || (await isSameFile(files, theirs, ours))) continue;
    return {
      code: OTHER_AGENT,
      what: `the running agent has another ${what}: ${theirs}`,
      where: ours,
      fix: `to use that agent: ${flag} ${theirs}; to run a second agent, give all of --config, --state-dir and --runtime-dir`,
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
export function daemonProblem(answer: ControlAnswer, where: string): Problem {
  switch (answer.kind) {
    case "denied":
      return {
        code: "daemon-denied",
        what: "a daemon runs, but this user may not use its control socket",
        where,
        fix: "run it as root, or permanently: sudo usermod -aG robot-policy-agent USER, and log in again",
      };
    case "not-running":
      return {
        code: NO_SOCKET,
        what: "another agent or command uses the state directory, and no agent answers on this control socket",
        where,
        fix: "wait for the other command to end; for an agent with another socket give its --runtime-dir",
      };
    case "failed":
      return {
        code: "daemon-failed",
        what: answer.detail,
        where,
        fix: "look at its log: journalctl -u robot-policy-agent",
      };
    case "answer":
      return {
        code: "daemon-failed",
        what: `unexpected answer ${answer.status} of the daemon`,
        where,
        fix: "restart it, so that it runs the same version",
      };
  }
}

function decode(status: number, body: Buffer): ControlAnswer {
  try {
    return { kind: "answer", status, body: JSON.parse(body.toString("utf8")) };
  } catch {
    return { kind: "failed", detail: "the daemon's answer is not JSON" };
  }
}

function describe(error: Error): ControlAnswer {
  switch (errorCode(error)) {
    case "ENOENT":
    case "ECONNREFUSED":
      return { kind: "not-running" };
    case "EACCES":
      return { kind: "denied" };
    case "ECONNRESET":
      return { kind: "failed", detail: "the agent closed the connection: it stops, or too many programs ask it" };
    default:
      return { kind: "failed", detail: error.message };
  }
}
