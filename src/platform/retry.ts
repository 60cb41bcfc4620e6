import type { Random } from "./random.ts";

/** No answer of a service delays the next attempt by more than this, whatever its Retry-After says. */
export const RETRY_AFTER_CAP_MS = 3_600_000;

/** The delays of one thing that is tried until it works. */
export interface Backoff {
  /** Delays handed out since the start or the last `reset`. */
  readonly attempts: number;
  /**
   * How long to wait before the next attempt, in whole milliseconds.
   *
   * @param retryAfterMs what the service asked for, if it did: a lower bound, up to `RETRY_AFTER_CAP_MS`.
   */
  nextMs(retryAfterMs?: number | null): number;
  /** After a success: the next delay is a first one again. */
  reset(): void;
}

export interface BackoffOptions {
  /** Longest first delay; each further one may be twice as long. */
  readonly firstMs: number;
  /** Longest delay of all. */
  readonly capMs: number;
  readonly random: Random;
}

/**
 * Exponential backoff with full jitter.
 *
 * Each delay is drawn uniformly from `firstMs / 2` up to a ceiling that doubles from `firstMs` to `capMs`. The whole
 * range is drawn from at the cap too, so that a fleet that fell silent together comes back spread over `capMs`. The
 * floor is there because full jitter may otherwise draw near zero several times in a row, which is a burst.
 * After https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 *
 * A Retry-After is waited out, and then the drawn delay on top, so that a date told to a whole fleet does not bring it
 * back in one moment; together never more than `RETRY_AFTER_CAP_MS`.
 */
export function createBackoff(options: BackoffOptions): Backoff {
  const floorMs = options.firstMs / 2;
  let attempts = 0;
  return {
    get attempts() {
      return attempts;
    },
    nextMs(retryAfterMs) {
      const ceilingMs = Math.min(options.capMs, options.firstMs * 2 ** attempts);
      attempts += 1;
      const drawnMs = Math.round(floorMs + options.random.unit() * (ceilingMs - floorMs));
      const askedMs = acceptable(retryAfterMs);
      return askedMs === 0 ? drawnMs : Math.min(RETRY_AFTER_CAP_MS, askedMs + drawnMs);
    },
    reset() {
      attempts = 0;
    },
  };
}

/** Zero for nothing asked, negative numbers and NaN: a service can lengthen a delay, never shorten it. */
function acceptable(retryAfterMs: number | null | undefined): number {
  if (retryAfterMs === null || retryAfterMs === undefined || !(retryAfterMs > 0)) return 0;
  return Math.min(RETRY_AFTER_CAP_MS, Math.ceil(retryAfterMs));
}
