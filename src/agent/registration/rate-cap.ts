import { createBucket } from "../control/bucket.ts";

/**
 * Bounds how often the agent registers, in two token buckets.
 *
 * Changes of the configuration files have a small one, for a file that never stops changing: its end state is always registered, only not
 * at once. A person who corrects the key, the address or the region is not held back: everything else counts in a wide bucket, which
 * bounds a program that rewrites such a file for ever.
 */
export interface RateCap {
  /** Monotonic milliseconds from which on this digest may be registered; in the past when it may be now. */
  untilMs(digest: string): number;
  /** This digest was sent. */
  take(digest: string, nowMs: number): void;
}

/** A person who calibrates twice in a minute does not wait. */
const CONTENT_BURST = 3;
/** Nobody corrects a mistake so often at one sitting. */
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
