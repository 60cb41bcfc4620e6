import type * as crypto from "node:crypto";
import type { MessagePort, Worker } from "node:worker_threads";

import { errorCode } from "../platform/files/files.ts";

/** One SHA-256 in the making. The bytes may be overwritten once `update` resolved. */
export interface RunningHash {
  update(bytes: Uint8Array): Promise<void> | void;
  digest(): Promise<string> | string;
}

/** A second thread that does nothing but SHA-256, so that two cores hash when there is much to read. */
export interface HashThread {
  /** Starts a hash there. Its methods reject with `HashThreadLost` when the thread is gone. The bytes must be shared memory. */
  start(): RunningHash;
  stop(): Promise<void>;
}

/** The thread died, as under a limit on threads or memory. */
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

/** @returns undefined when the system gives no thread. */
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
  // `exit` follows.
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
  // The source goes along as text, because a bundle has no second file to start from.
  const source = `(${serve})(require("node:worker_threads").parentPort, require("node:crypto").createHash)`;
  try {
    return new Worker(source, { eval: true, env: {}, execArgv: [] });
  } catch (error) {
    // No thread left under TasksMax= or RLIMIT_NPROC; anything else is a bug.
    if (errorCode(error) === "ERR_WORKER_INIT_FAILED") return undefined;
    throw error;
  }
}

/**
 * The whole program of the thread. It is sent as its own text, so it may use nothing but its parameters, and no named
 * functions, which a bundler might wrap in helpers of its own.
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
