/** Enough for a person who calibrates twice in a minute. */
const CONTENT_BURST = 3;
/** More corrections than a person makes in a row. */
const TOTAL_BURST = 30;
const REFILL_MS = 20_000;

/**
 * Bounds how often the agent registers, with two token buckets.
 *
 * Changes of the digest use a small bucket, for files that keep changing: their last state is always registered, only later. All requests
 * use a large bucket, so that a person who corrects the key, the address or the region is not delayed, but a program that rewrites such a
 * file forever is bounded.
 */
export function createRateCap() {
  const content = createBucket(CONTENT_BURST, REFILL_MS);
  const total = createBucket(TOTAL_BURST, REFILL_MS);
  let sentDigest: string | null = null;
  return {
    /** Monotonic time from which this digest may be registered; in the past when it may be now. */
    untilMs: (digest: string) =>
      Math.max(total.untilMs(), digest === sentDigest ? Number.NEGATIVE_INFINITY : content.untilMs()),
    /** This digest was sent. */
    take(digest: string, nowMs: number) {
      total.take(nowMs);
      if (digest !== sentDigest) content.take(nowMs);
      sentDigest = digest;
    },
  };
}

/** A token bucket of size `burst`; one token is added every `refillMs`. */
function createBucket(burst: number, refillMs: number) {
  // The time at which the bucket is full again is the whole state.
  let fullAtMs = Number.NEGATIVE_INFINITY;
  return {
    /** Monotonic time from which the next token is available; in the past when one is available now. */
    untilMs: () => fullAtMs - (burst - 1) * refillMs,
    take(nowMs: number) {
      fullAtMs = Math.max(fullAtMs, nowMs) + refillMs;
    },
  };
}
