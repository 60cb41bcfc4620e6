import { setTimeout as sleep } from "node:timers/promises";

import { PATIENCE_MS } from "./run/patience.ts";

/** Resolves once the condition holds. Polls at growing intervals, up to `PATIENCE_MS`. */
export async function eventually<T>(look: () => Promise<T | undefined>, awaited: string): Promise<T> {
  const startedMs = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > PATIENCE_MS) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${awaited}`);
    await sleep(Math.min(20 + waitedMs / 10, 200));
  }
}
