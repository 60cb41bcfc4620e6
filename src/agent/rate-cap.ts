/** A token bucket over registrations, for a file that never stops changing: its end state is always registered, only not at once. */
export interface RateCap {
  /** Monotonic milliseconds from which on the next registration may be sent; in the past when it may be sent now. */
  until_ms(): number;
  /** A registration was sent. */
  take(now_ms: number): void;
}

/** A person who calibrates twice in a minute does not wait. */
const BURST = 3;
const REFILL_MS = 20_000;

export function createRateCap(): RateCap {
  // The moment at which the bucket would be full again says it all.
  let full_at_ms = Number.NEGATIVE_INFINITY;
  return {
    until_ms: () => full_at_ms - (BURST - 1) * REFILL_MS,
    take(now_ms) {
      full_at_ms = Math.max(full_at_ms, now_ms) + REFILL_MS;
    },
  };
}
