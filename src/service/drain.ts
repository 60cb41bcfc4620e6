import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

import type { FastifyInstance } from "fastify";

import type { ServiceMachine } from "./kernel/machine.ts";

/** Stops listening, waits for open answers, then closes the remaining keep-alive connections. */
export async function drain(
  app: FastifyInstance,
  inFlight: InFlight,
  { clock, log }: Pick<ServiceMachine, "clock" | "log">,
  timeoutMs: number,
): Promise<void> {
  const closed = app.close();
  const patience = new AbortController();
  const idle = inFlight.idle().then(() => patience.abort());
  try {
    await clock.sleep(timeoutMs, patience.signal);
    log.warn("drain_cut_short", { timeout_ms: timeoutMs });
  } catch {
    // All answers were sent.
  }
  app.server.closeAllConnections();
  await Promise.all([closed, idle]);
}

/** Open answers, so that a stopping service knows when all of them are sent. */
export interface InFlight {
  track(response: ServerResponse): void;
  /** The oldest open answer to a complete request of this connection. */
  owedTo(socket: Socket): ServerResponse | undefined;
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
    owedTo: (socket) => open.values().find(({ req }) => req.socket === socket && req.complete),
    idle() {
      if (open.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
  };
}
