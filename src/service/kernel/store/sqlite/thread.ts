import { Worker } from "node:worker_threads";

import { StoreUnavailableError } from "../unavailable.ts";
import type { RecordedTransaction } from "./replay.ts";
import type { StatementRequest, StatementResult } from "./session.ts";
import { SQLITE_WORKER } from "./worker-file.ts";

/** A reader runs queries, a committer replays recorded transactions. */
export interface ThreadSetup {
  readonly path: string;
  readonly role: "reader" | "committer";
}

/** Null asks the thread to end. */
export type ThreadRequest = StatementRequest | RecordedTransaction | null;

export type ThreadAnswer = StatementResult | { readonly error: { readonly message: string; readonly details: object } };

/** A connection in a thread, which answers requests in order. */
export class SqliteThread {
  readonly #worker: Worker;
  readonly #asked: PromiseWithResolvers<StatementResult>[] = [];
  readonly #gone = Promise.withResolvers<void>();
  #failure: StoreUnavailableError | null = null;

  constructor(setup: ThreadSetup) {
    this.#worker = new Worker(SQLITE_WORKER, { name: `sqlite-${setup.role}`, workerData: setup });
    this.#worker.on("message", (answer: ThreadAnswer) => this.#settle(answer));
    this.#worker.on("error", (cause) => this.#fail(`The thread of the database failed: ${String(cause)}`, cause));
    this.#worker.on("exit", () => {
      this.#fail("The thread of the database has ended");
      this.#gone.resolve();
    });
  }

  get hasEnded(): boolean {
    return this.#failure !== null;
  }

  /** Resolves when the thread has exited. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** @throws the error of SQLite; StoreUnavailableError where the thread has ended, or ends before it answers. */
  ask(request: StatementRequest | RecordedTransaction): Promise<StatementResult> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    // First, because it throws when a parameter cannot be copied, and then no answer comes.
    this.#worker.postMessage(request);
    const asked = Promise.withResolvers<StatementResult>();
    this.#asked.push(asked);
    return asked.promise;
  }

  async end(): Promise<void> {
    if (this.#failure !== null) return;
    this.#worker.postMessage(null);
    await this.gone;
  }

  /** Rejects all open requests, and ends the thread as soon as SQLite returns. */
  giveUp(reason: string): void {
    this.#fail(reason);
    void this.#worker.terminate();
  }

  #settle(answer: ThreadAnswer): void {
    const asked = this.#asked.shift();
    if ("error" in answer) asked?.reject(Object.assign(new Error(answer.error.message), answer.error.details));
    else asked?.resolve(answer);
  }

  #fail(message: string, cause?: unknown): void {
    this.#failure ??= new StoreUnavailableError(message, { cause });
    for (const { reject } of this.#asked.splice(0)) reject(this.#failure);
  }
}
