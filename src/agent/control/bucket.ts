/** A token bucket. */
export interface Bucket {
  /** Monotonic milliseconds from which on the next one may be taken; in the past when it may be now. */
  untilMs(): number;
  take(nowMs: number): void;
}

/** @param burst how many may be taken at once; one more comes back every `refillMs`. */
export function createBucket(burst: number, refillMs: number): Bucket {
  // The moment at which the bucket would be full again says it all.
  let fullAtMs = Number.NEGATIVE_INFINITY;
  return {
    untilMs: () => fullAtMs - (burst - 1) * refillMs,
    take(nowMs) {
      fullAtMs = Math.max(fullAtMs, nowMs) + refillMs;
    },
  };
}
