import type { FastifyInstance } from "fastify";

import type { ServiceMachine } from "./kernel/machine.ts";
import type { InFlight } from "./kernel/traffic/in-flight.ts";

/** Stops listening, lets answers that are owed go out, then closes what is left: clients that keep their connection for later. */
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
    // Nothing is owed any more.
  }
  app.server.closeAllConnections();
  await Promise.all([closed, idle]);
}
