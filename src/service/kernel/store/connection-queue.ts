import { createFairQueue, type FairQueue } from "../traffic/fair-queue.ts";
import { StoreBusyError } from "./unavailable.ts";

/** Queries that may wait for a connection. */
export const WAITING_MAXIMUM = 1024;

/** Hands out the connections of a pool in the order in which queries ask for them. */
export class ConnectionQueue {
  readonly #queue: FairQueue;
  readonly #patienceMs: number;

  /** @param patienceMs how long a query may wait for a connection. */
  constructor(connections: number, patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#queue = createFairQueue({
      own: WAITING_MAXIMUM,
      all: WAITING_MAXIMUM,
      ownAtOnce: connections,
      allAtOnce: connections,
    });
  }

  /**
   * Waits for a connection. Resolves with the function that releases it.
   *
   * @throws StoreBusyError when too many queries wait, and after `patienceMs`.
   */
  acquire(): Promise<() => void> {
    return new Promise((resolve, reject) => {
      let isGivenUp = false;
      const alarm = setTimeout(() => {
        isGivenUp = true;
        reject(new StoreBusyError(`No connection to the database was free within ${this.#patienceMs} ms`));
      }, this.#patienceMs);
      const taken = this.#queue.run("", async () => {
        clearTimeout(alarm);
        if (isGivenUp) return;
        await new Promise<void>((release) => resolve(release));
      });
      void taken.then((outcome) => {
        if (outcome !== null) return;
        clearTimeout(alarm);
        reject(new StoreBusyError("Too many queries wait"));
      });
    });
  }
}
