import { type Clock, systemClock } from "../../src/platform/clock.ts";

/** The system clock plus an offset that a test can increase: sleeps that end in the skipped time end at once. File times are unaffected. */
export class PushedClock implements Clock {
  #aheadMs = 0;
  #pushed = Promise.withResolvers<void>();
  wallMs = systemClock.wallMs;
  monotonicMs = () => systemClock.monotonicMs() + this.#aheadMs;

  async sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const dueMs = this.monotonicMs() + durationMs;
    for (let leftMs = durationMs; leftMs > 0; leftMs = dueMs - this.monotonicMs()) {
      const woken = new AbortController();
      const signals = signal === undefined ? [woken.signal] : [woken.signal, signal];
      const slept = systemClock.sleep(leftMs, AbortSignal.any(signals)).catch(() => signal?.throwIfAborted());
      await Promise.race([slept, this.#pushed.promise]);
      woken.abort();
    }
  }

  push(durationMs: number): void {
    this.#aheadMs += durationMs;
    this.#pushed.resolve();
    this.#pushed = Promise.withResolvers();
  }
}
