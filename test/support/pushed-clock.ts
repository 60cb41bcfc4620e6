import type { Clock } from "../../src/platform/clock.ts";
import { systemClock } from "../../src/platform/clock.ts";

/** The time of the system, which a test may push ahead: what sleeps until then wakes at once. Files keep the wall clock's time. */
export class PushedClock implements Clock {
  #aheadMs = 0;
  #pushed = Promise.withResolvers<void>();
  wall_ms = systemClock.wall_ms;
  monotonic_ms = () => systemClock.monotonic_ms() + this.#aheadMs;

  async sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const dueMs = this.monotonic_ms() + durationMs;
    for (let leftMs = durationMs; leftMs > 0; leftMs = dueMs - this.monotonic_ms()) {
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
