import type { ServerResponse } from "node:http";

/** Open answers, so that a stopping service knows when all of them are sent. */
export interface InFlight {
  track(response: ServerResponse): void;
  /** Resolves when no answer is open. */
  idle(): Promise<void>;
}

export function createInFlight(): InFlight {
  const open = new Set<ServerResponse>();
  const waiting: (() => void)[] = [];
  return {
    track(response) {
      open.add(response);
      // "close" follows the end of the answer as well as a disconnect.
      response.once("close", () => {
        open.delete(response);
        if (open.size === 0) for (const resolve of waiting.splice(0)) resolve();
      });
    },
    idle() {
      if (open.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
  };
}
