import { request as httpRequest } from "node:http";

import { errorCode } from "../../platform/files/files.ts";

export type ControlAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly body: unknown }
  /** No daemon listens on this socket. */
  | { readonly kind: "not-running" }
  | { readonly kind: "denied"; readonly path: string }
  | { readonly kind: "failed"; readonly detail: string };

/** A registration may wait for files to settle and for the whole request timeout. */
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
  const limitMs = method === "GET" ? QUESTION_TIMEOUT_MS : WORK_TIMEOUT_MS;
  const answered = await new Promise<ControlAnswer>((resolve) => {
    const conclude = (answer: ControlAnswer) => {
      clearTimeout(limit);
      resolve(answer);
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
    const limit = setTimeout(() => request.destroy(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
    request.on("error", (error) => conclude(describe(error, socketPath)));
    request.end();
  });
  signal.throwIfAborted();
  return answered;
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
