import type { ServerResponse } from "node:http";

/** The answers not yet out, so that a stopping service knows when nothing more is owed to anyone. */
export interface InFlight {
  track(response: ServerResponse): void;
  /** Resolves at once when no answer is owed, else with the last one. */
  idle(): Promise<void>;
}

export function createInFlight(): InFlight {
  const owed = new Set<ServerResponse>();
  const waiting: (() => void)[] = [];
  return {
    track(response) {
      owed.add(response);
      // "close" comes after the answer as well as after a client that went away.
      response.once("close", () => {
        owed.delete(response);
        if (owed.size === 0) for (const resolve of waiting.splice(0)) resolve();
      });
    },
    idle() {
      if (owed.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
  };
}
