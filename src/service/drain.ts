import type { FastifyInstance } from "fastify";

import type { ServiceMachine } from "./kernel/machine.ts";
import type { InFlight } from "./kernel/traffic/in-flight.ts";

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
