import { request as httpRequest } from "node:http";

import { errorCode } from "../../platform/files/files.ts";
import { isStatusDocument } from "../status.ts";

export type ControlAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly body: unknown }
  /** No daemon listens on this socket. */
  | { readonly kind: "not-running" }
  | { readonly kind: "denied"; readonly path: string }
  | { readonly kind: "failed"; readonly detail: string };

/** A registration may wait for files to settle and for the whole request timeout. Hashing takes longer: see `isAtWork`. */
const WORK_TIMEOUT_MS = 120_000;
/** GET requests are answered from memory. A daemon that takes longer hangs, and the watchdog restarts it within a minute. */
const QUESTION_TIMEOUT_MS = 5000;
const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;

/** Sends a request to the running daemon through its control socket. @throws `signal.reason` when the signal aborts. */
export async function askDaemon(
  socketPath: string,
  method: "GET" | "POST",
  path: string,
  signal: AbortSignal,
): Promise<ControlAnswer> {
  const answered = await exchange(socketPath, method, path, signal);
  signal.throwIfAborted();
  return answered;
}

function exchange(
  socketPath: string,
  method: "GET" | "POST",
  path: string,
  signal: AbortSignal,
): Promise<ControlAnswer> {
  const limitMs = method === "GET" ? QUESTION_TIMEOUT_MS : WORK_TIMEOUT_MS;
  return new Promise((resolve) => {
    let isOver = false;
    const conclude = (answer: ControlAnswer) => {
      isOver = true;
      clearTimeout(limit);
      resolve(answer);
    };
    const expire = async () => {
      const goesOn = method === "POST" && (await isAtWork(socketPath, signal));
      if (isOver) return;
      if (goesOn) limit.refresh();
      else request.destroy(new Error(`no answer within ${limitMs / 1000} s`));
    };
    const request = httpRequest({ socketPath, method, path, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.byteLength;
        if (length > ANSWER_LIMIT_BYTES) response.destroy(new Error("the daemon's answer is too long"));
        else chunks.push(chunk);
      });
      response.on("end", () => conclude(decode(response.statusCode ?? 0, Buffer.concat(chunks))));
      response.on("error", (error) => conclude(describe(error, socketPath)));
    });
    const limit = setTimeout(() => void expire(), limitMs);
    request.on("error", (error) => conclude(describe(error, socketPath)));
    request.end();
  });
}

/** True when the daemon still answers and its disks do: only hashing many GB takes so long then. */
async function isAtWork(socketPath: string, signal: AbortSignal): Promise<boolean> {
  const answer = await exchange(socketPath, "GET", "/status", signal);
  return answer.kind === "answer" && isStatusDocument(answer.body) && answer.body.hanging === null;
}

function decode(status: number, body: Buffer): ControlAnswer {
  try {
    return { kind: "answer", status, body: JSON.parse(body.toString("utf8")) };
  } catch {
    return { kind: "failed", detail: "the daemon's answer is not JSON" };
  }
}

function describe(error: Error, path: string): ControlAnswer {
  switch (errorCode(error)) {
    case "ENOENT":
    case "ECONNREFUSED":
      return { kind: "not-running" };
    case "EACCES":
      return { kind: "denied", path };
    case "ECONNRESET":
      return { kind: "failed", detail: "the agent closed the connection: it stops, or too many programs ask it" };
    default:
      return { kind: "failed", detail: error.message };
  }
}
