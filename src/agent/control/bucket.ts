/** A token bucket. */
export interface Bucket {
  /** Monotonic time from which the next token is available; in the past when one is available now. */
  untilMs(): number;
  take(nowMs: number): void;
}

/** @param burst the size of the bucket; one token is added every `refillMs`. */
export function createBucket(burst: number, refillMs: number): Bucket {
  // The time at which the bucket is full again is the whole state.
  let fullAtMs = Number.NEGATIVE_INFINITY;
  return {
    untilMs: () => fullAtMs - (burst - 1) * refillMs,
    take(nowMs) {
      fullAtMs = Math.max(fullAtMs, nowMs) + refillMs;
    },
  };
}
