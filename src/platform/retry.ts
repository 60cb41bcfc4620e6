import type { Random } from "./random.ts";

/** The longest delay that a Retry-After can cause. */
export const RETRY_AFTER_CAP_MS = 3_600_000;

/** The delays of one retry loop. */
export interface Backoff {
  /** Number of delays since the start or the last `reset`. */
  readonly attempts: number;
  /**
   * How long to wait before the next attempt, in whole milliseconds.
   *
   * @param retryAfterMs the service's Retry-After, if any: a lower bound, up to `RETRY_AFTER_CAP_MS`.
   */
  nextMs(retryAfterMs?: number | null): number;
  /** Call after a success: the next delay is a first one again. */
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
 * Each delay is uniform between `firstMs / 2` and a ceiling that doubles from `firstMs` to `capMs`. At the cap the range stays the same, so
 * that a fleet that failed together retries spread over `capMs`. The lower bound prevents bursts, because full jitter can otherwise give
 * several delays near zero in a row.
 * After https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 *
 * With a Retry-After, the random delay is added to it, so that a whole fleet with the same date does not retry at the same moment. The sum
 * is at most `RETRY_AFTER_CAP_MS`.
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

/** Zero for none, negative numbers and NaN: a service can lengthen a delay, never shorten it. */
function acceptable(retryAfterMs: number | null | undefined): number {
  if (retryAfterMs === null || retryAfterMs === undefined || !(retryAfterMs > 0)) return 0;
  return Math.min(RETRY_AFTER_CAP_MS, Math.ceil(retryAfterMs));
}

/**
 * The delay that an answer asks for (RFC 9110 section 10.2.3).
 *
 * A date is compared with the answer's Date header where there is one, because a robot's clock may be wrong by decades.
 *
 * @returns milliseconds, 0 for a past date, at most `RETRY_AFTER_CAP_MS`; null for a missing or invalid value.
 */
export function parseRetryAfter(
  retryAfter: string | undefined,
  date: string | undefined,
  wallMs: number,
): number | null {
  const value = (retryAfter ?? "").trim();
  if (/^\d+(?:\.\d+)?$/.test(value)) return boundedDelay(Number(value) * 1000);
  const untilMs = parseHttpDate(value);
  return untilMs === null ? null : boundedDelay(untilMs - (parseHttpDate(date ?? "") ?? wallMs));
}

function boundedDelay(delayMs: number): number {
  return Math.min(RETRY_AFTER_CAP_MS, Math.max(0, Math.ceil(delayMs)));
}

function parseHttpDate(text: string): number | null {
  const timeMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(timeMs) ? null : timeMs;
}

/** The form of dates that HTTP requires (RFC 9110 section 5.6.7). Date.parse alone accepts nearly any text, such as "7" and "May". */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
