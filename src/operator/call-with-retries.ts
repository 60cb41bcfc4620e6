import type { CallResult } from "../client/call-result.ts";
import { createBackoff } from "../platform/retry.ts";
import type { OperatorContext } from "./context.ts";

/** An operator waits at the terminal, so the retries are few. */
const ATTEMPTS = 4;
const LONGEST_PAUSE_MS = 30_000;
const BACKOFF = { firstMs: 500, capMs: 8000 } as const;

/** Makes a call that changes nothing, and repeats it a few times after 429 and 503, with the pause that the service asks for. */
export async function callWithRetries<T>(
  call: () => Promise<CallResult<T>>,
  { machine, terminal, signal }: Pick<OperatorContext, "machine" | "terminal" | "signal">,
): Promise<CallResult<T>> {
  const backoff = createBackoff({ ...BACKOFF, random: machine.random });
  for (;;) {
    const result = await call();
    if (result.kind !== "refused" || !isAskedToWait(result.status)) return result;
    const pauseMs = backoff.nextMs(result.retryAfterMs);
    if (backoff.attempts >= ATTEMPTS || pauseMs > LONGEST_PAUSE_MS) return result;
    terminal.note(`${result.detail}; trying again in ${Math.ceil(pauseMs / 1000)} s`);
    await machine.clock.sleep(pauseMs, signal);
  }
}

export function isAskedToWait(status: number): boolean {
  return status === 429 || status === 503;
}
