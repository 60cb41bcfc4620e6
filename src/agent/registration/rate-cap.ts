/** Enough for a person who calibrates twice in a minute. */
const CONTENT_BURST = 3;
/** More corrections than a person makes in a row. */
const TOTAL_BURST = 30;
const REFILL_MS = 20_000;

/**
 * Bounds how often the agent registers, with two token buckets that get a token every `REFILL_MS`.
 *
 * Changes of the digest use a small bucket, for files that keep changing: their last state is always registered, only later. All requests
 * use a large bucket, so that a person who corrects the key, the address or the region is not delayed, but a program that rewrites such a
 * file forever is bounded.
 */
export function createRateCap() {
  // The time at which a bucket is full again is its whole state.
  let contentFullMs = Number.NEGATIVE_INFINITY;
  let totalFullMs = Number.NEGATIVE_INFINITY;
  let sentDigest: string | null = null;
  return {
    /** Monotonic time from which this digest may be registered; in the past when it may be now. */
    untilMs(digest: string): number {
      const totalMs = totalFullMs - (TOTAL_BURST - 1) * REFILL_MS;
      if (digest === sentDigest) return totalMs;
      return Math.max(totalMs, contentFullMs - (CONTENT_BURST - 1) * REFILL_MS);
    },
    /** This digest was sent. */
    take(digest: string, nowMs: number) {
      totalFullMs = Math.max(totalFullMs, nowMs) + REFILL_MS;
      if (digest !== sentDigest) contentFullMs = Math.max(contentFullMs, nowMs) + REFILL_MS;
      sentDigest = digest;
    },
  };
}
