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
   * @param retry_after_ms what the service asked for, if it did: a lower bound, up to `RETRY_AFTER_CAP_MS`.
   */
  next_ms(retry_after_ms?: number | null): number;
  /** After a success: the next delay is a first one again. */
  reset(): void;
}

export interface BackoffOptions {
  /** Longest first delay; each further one may be twice as long. */
  readonly first_ms: number;
  /** Longest delay of all. */
  readonly cap_ms: number;
  readonly random: Random;
}

/**
 * Exponential backoff with full jitter.
 *
 * Each delay is drawn uniformly from `first_ms / 2` up to a ceiling that doubles from `first_ms` to `cap_ms`. The whole
 * range is drawn from at the cap too, so that a fleet that fell silent together comes back spread over `cap_ms`. The
 * floor is there because full jitter may otherwise draw near zero several times in a row, which is a burst.
 * After https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 *
 * A Retry-After is waited out, and then the drawn delay on top, so that a date told to a whole fleet does not bring it
 * back in one moment; together never more than `RETRY_AFTER_CAP_MS`.
 */
export function createBackoff(options: BackoffOptions): Backoff {
  const floor_ms = options.first_ms / 2;
  let attempts = 0;
  return {
    get attempts() {
      return attempts;
    },
    next_ms(retry_after_ms) {
      const ceiling_ms = Math.min(options.cap_ms, options.first_ms * 2 ** attempts);
      attempts += 1;
      const drawn_ms = Math.round(floor_ms + options.random.unit() * (ceiling_ms - floor_ms));
      const asked_ms = acceptable(retry_after_ms);
      return asked_ms === 0 ? drawn_ms : Math.min(RETRY_AFTER_CAP_MS, asked_ms + drawn_ms);
    },
    reset() {
      attempts = 0;
    },
  };
}

/** Zero for nothing asked, negative numbers and NaN: a service can lengthen a delay, never shorten it. */
function acceptable(retry_after_ms: number | null | undefined): number {
  if (retry_after_ms === null || retry_after_ms === undefined || !(retry_after_ms > 0)) return 0;
  return Math.min(RETRY_AFTER_CAP_MS, Math.ceil(retry_after_ms));
}
