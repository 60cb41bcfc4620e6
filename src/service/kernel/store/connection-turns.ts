import { currentAsker } from "../traffic/asker.ts";
import { createTurns } from "../traffic/turns.ts";
import type { Turns } from "../traffic/turns.ts";
import { StoreBusyError, StoreUnavailableError } from "./unavailable.ts";

/** Queries that may wait for a connection; half of them of one asker. */
export const WAITING_MAXIMUM = 1024;

/** Gives connections to those who ask in turn, however many queries one of them has. */
export class ConnectionTurns {
  readonly #turns: Turns;
  readonly #patienceMs: number;

  /** @param patienceMs how long a query may wait for its turn. */
  constructor(connections: number, patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#turns = createTurns({
      own: WAITING_MAXIMUM / 2,
      all: WAITING_MAXIMUM,
      ownAtOnce: connections,
      allAtOnce: connections,
    });
  }

  /**
   * Resolves when there is a connection for who asks, with what is to be called when it is free again.
   *
   * @throws StoreUnavailableError when too many wait, or for too long.
   */
  begin(): Promise<() => void> {
    return new Promise((resolve, reject) => {
      let isGivenUp = false;
      const alarm = setTimeout(() => {
        isGivenUp = true;
        reject(new StoreUnavailableError(`No connection to the database was free within ${this.#patienceMs} ms`));
      }, this.#patienceMs);
      const taken = this.#turns.take(currentAsker(), async () => {
        clearTimeout(alarm);
        if (!isGivenUp) await new Promise<void>((end) => resolve(end));
      });
      void taken.then((outcome) => {
        if (outcome !== null) return;
        clearTimeout(alarm);
        reject(new StoreBusyError("Too many queries wait"));
      });
    });
  }
}
