import { createFairQueue, type FairQueue } from "../traffic/fair-queue.ts";
import { currentRequester } from "../traffic/requester.ts";
import { StoreBusyError } from "./unavailable.ts";

/** Queries that may wait for a connection; half of them of one requester. */
export const WAITING_MAXIMUM = 1024;

/** Hands out the connections of a pool round-robin over requesters, however many queries one of them has. */
export class ConnectionQueue {
  readonly #queue: FairQueue;
  readonly #patienceMs: number;

  /** @param patienceMs how long a query may wait for a connection. */
  constructor(connections: number, patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#queue = createFairQueue({
      own: WAITING_MAXIMUM / 2,
      all: WAITING_MAXIMUM,
      ownAtOnce: connections,
      allAtOnce: connections,
    });
  }

  /**
   * Waits until the current requester may use a connection. Resolves with the function that releases it.
   *
   * @throws StoreBusyError when too many queries wait, and after `patienceMs`.
   */
  acquire(): Promise<() => void> {
    const { id, beginWork } = currentRequester();
    return new Promise((resolve, reject) => {
      let isGivenUp = false;
      const alarm = setTimeout(() => {
        isGivenUp = true;
        reject(new StoreBusyError(`No connection to the database was free within ${this.#patienceMs} ms`));
      }, this.#patienceMs);
      const taken = this.#queue.run(id, async () => {
        clearTimeout(alarm);
        if (isGivenUp) return;
        using _held = beginWork();
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
