import type * as crypto from "node:crypto";
import type { MessagePort, Worker } from "node:worker_threads";

import { errorCode } from "../platform/files/files.ts";

/** A SHA-256 in progress. The caller may overwrite the bytes once `update` resolves. */
export interface RunningHash {
  update(bytes: Uint8Array): Promise<void> | void;
  digest(): Promise<string> | string;
}

/** A second thread that computes SHA-256, so that two cores hash large files. */
export interface HashThread {
  /** Starts a hash on the thread. Its methods reject with `HashThreadLost` when the thread ended. The bytes must be shared memory. */
  start(): RunningHash;
  stop(): Promise<void>;
}

/** The thread ended, for example under a memory limit. */
export class HashThreadLost extends Error {
  override readonly name = "HashThreadLost";
}

interface Request {
  readonly id: number;
  /** The next bytes; null asks for the result. */
  readonly bytes: Uint8Array | null;
}

interface Reply {
  readonly id: number;
  readonly sha256: string;
}

/** @returns undefined when the system refuses another thread. */
export async function startHashThread(): Promise<HashThread | undefined> {
  const worker = await startWorker();
  return worker === undefined ? undefined : converse(worker);
}

function converse(worker: Worker): HashThread {
  const waiting = new Map<number, PromiseWithResolvers<string>>();
  let lost: HashThreadLost | undefined;
  let nextId = 0;

  worker.on("message", ({ id, sha256 }: Reply) => {
    waiting.get(id)?.resolve(sha256);
    waiting.delete(id);
  });
  // `exit` always follows `error` and handles both.
  worker.on("error", () => {});
  worker.on("exit", () => {
    lost = new HashThreadLost("The hashing thread ended");
    for (const { reject } of waiting.values()) reject(lost);
    waiting.clear();
  });

  function ask(request: Request): Promise<string> {
    if (lost !== undefined) return Promise.reject(lost);
    const answer = Promise.withResolvers<string>();
    waiting.set(request.id, answer);
    worker.postMessage(request, []);
    return answer.promise;
  }

  return {
    start() {
      const id = nextId++;
      return {
        async update(bytes) {
          await ask({ id, bytes });
        },
        digest: () => ask({ id, bytes: null }),
      };
    },
    async stop() {
      await worker.terminate();
    },
  };
}

async function startWorker(): Promise<Worker | undefined> {
  const { Worker } = await import("node:worker_threads");
  // The source is passed as text, because the bundle has no second file to load.
  const source = `(${serve})(require("node:worker_threads").parentPort, require("node:crypto").createHash)`;
  try {
    return new Worker(source, { eval: true, env: {}, execArgv: [] });
  } catch (error) {
    // TasksMax= or RLIMIT_NPROC is reached; anything else is a bug.
    if (errorCode(error) === "ERR_WORKER_INIT_FAILED") return undefined;
    throw error;
  }
}

/**
 * The program of the thread. It is passed as text, so it may only use its parameters, and no named functions: a bundler may wrap those
 * in helpers that do not exist in the thread.
 */
function serve(port: MessagePort, createHash: typeof crypto.createHash): void {
  const running = new Map<number, ReturnType<typeof createHash>>();
  port.on("message", ({ id, bytes }: Request) => {
    const hash = running.get(id) ?? createHash("sha256");
    if (bytes === null) {
      running.delete(id);
      port.postMessage({ id, sha256: hash.digest("hex") }, []);
      return;
    }
    running.set(id, hash.update(bytes));
    port.postMessage({ id, sha256: "" }, []);
  });
}
