import { vi } from "vitest";

import { PATIENCE_MS } from "../../support/run/patience.ts";

/** What the service's tasks bring about comes soon, on a busy machine too. */
export const SOON = { timeout: PATIENCE_MS, interval: 100 } as const;

/**
 * Looks again and again until `check` passes, and resolves with what it returned. In concurrent tests `expect.poll` fails by chance: it asks
 * for the test that runs, which none is in the moment that another one ends.
 */
export function soon<T>(check: () => Promise<T>): Promise<T> {
  return vi.waitFor(check, SOON);
}
