import { vi } from "vitest";

import { PATIENCE_MS } from "../../support/run/patience.ts";

/** How long to wait for effects of the service's tasks, also on a busy machine. */
export const SOON = { timeout: PATIENCE_MS, interval: 100 } as const;

/**
 * Repeats `check` until it passes; resolves with its result. In concurrent tests, `expect.poll` fails by chance: it needs the current test,
 * which is undefined at the moment when another test ends.
 */
export function soon<T>(check: () => Promise<T>): Promise<T> {
  return vi.waitFor(check, SOON);
}
