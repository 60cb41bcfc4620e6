import type { Metrics } from "./metrics.ts";
import type { Store } from "./store/store.ts";
import { StoreUnavailableError } from "./store/unavailable.ts";
import type { Task } from "./tasks/task.ts";

/** Wraps a store to measure its writes. */
export function measureStore(store: Store, metrics: Metrics): Store {
  return {
    ...store,
    async write(job) {
      const end = metrics.writing();
      try {
        const value = await store.write(job);
        end("committed");
        return value;
      } catch (error) {
        end(error instanceof StoreUnavailableError ? "unavailable" : "failed");
        throw error;
      }
    },
  };
}

/** Wraps a task to count its runs. */
export function measureTask(task: Task, metrics: Metrics): Task {
  return {
    ...task,
    async run(signal) {
      try {
        await task.run(signal);
        metrics.taskEnded(task.name, "succeeded");
      } catch (error) {
        // Aborted runs are not counted.
        if (!signal.aborted) metrics.taskEnded(task.name, "failed");
        throw error;
      }
    },
  };
}

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
