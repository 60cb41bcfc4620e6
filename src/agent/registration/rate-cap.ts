import { createBucket } from "../control/bucket.ts";

/**
 * Bounds how often the agent registers, with two token buckets.
 *
 * Changes of the digest use a small bucket, for files that keep changing: their last state is always registered, only later. All requests
 * use a large bucket, so that a person who corrects the key, the address or the region is not delayed, but a program that rewrites such a
 * file forever is bounded.
 */
export interface RateCap {
  /** Monotonic time from which this digest may be registered; in the past when it may be now. */
  untilMs(digest: string): number;
  /** This digest was sent. */
  take(digest: string, nowMs: number): void;
}

/** Enough for a person who calibrates twice in a minute. */
const CONTENT_BURST = 3;
/** More corrections than a person makes in a row. */
const TOTAL_BURST = 30;
const REFILL_MS = 20_000;

export function createRateCap(): RateCap {
  const content = createBucket(CONTENT_BURST, REFILL_MS);
  const total = createBucket(TOTAL_BURST, REFILL_MS);
  let sentDigest: string | null = null;
  return {
    untilMs: (digest) =>
      Math.max(total.untilMs(), digest === sentDigest ? Number.NEGATIVE_INFINITY : content.untilMs()),
    take(digest, nowMs) {
      total.take(nowMs);
      if (digest !== sentDigest) content.take(nowMs);
      sentDigest = digest;
    },
  };
}
