import type { Metrics } from "./metrics.ts";

/** Fine enough to see every delay that a client would notice. */
const PERIOD_MS = 20;

/** Reports how late timers fire, which is how long requests wait while something blocks the event loop. */
export function watchLoopDelay(metrics: Pick<Metrics, "loopDelayed">): Disposable {
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    metrics.loopDelayed(Math.max(0, nowMs - lastMs - PERIOD_MS) / 1000);
    lastMs = nowMs;
  }, PERIOD_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
