import type { Transaction } from "kysely";

import type { Metrics } from "./metrics.ts";
import type { Store } from "./store/store.ts";
import type { Tables } from "./store/tables.ts";
import { StoreUnavailableError } from "./store/unavailable.ts";
import type { Task } from "./tasks/task.ts";

/** Wraps a store to measure its writes. */
export function measureStore(store: Store, metrics: Metrics): Store {
  async function write<T>(job: (transaction: Transaction<Tables>) => Promise<T>): Promise<T> {
    const end = metrics.writing();
    try {
      const value = await store.write(job);
      end("committed");
      return value;
    } catch (error) {
      end(error instanceof StoreUnavailableError ? "unavailable" : "failed");
      throw error;
    }
  }
  const version = () => store.version();
  return {
    reader: store.reader,
    lookup: store.lookup,
    write,
    version,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
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
