import type { Log } from "../../../platform/log/log.ts";
import { createBackoff } from "../../../platform/retry.ts";
import type { ServiceMachine } from "../machine.ts";
import { StoreUnavailableError, unavailable } from "../store/unavailable.ts";

/**
 * Background work of the service: probing endpoints, reconciling deployments and fleets, metering, cleaning up.
 *
 * Several replicas may run the same task at once: a task is idempotent, and claims the rows it works on.
 */
export interface Task {
  /** For the log. */
  readonly name: string;
  /** Longest time between two runs; a nudge brings the next one forward. */
  readonly intervalMs: number;
  /** Nudges do not bring a run forward; for work that no request makes due. */
  readonly ignoresNudges?: boolean;
  /** Pause after a run as a multiple of its duration, even when nudged, to leave time for requests; 0 by default. */
  readonly restRatio?: number;
  /** Runs the task once. A failure is logged, and the task runs again after a backoff. */
  run(signal: AbortSignal): Promise<void>;
}

/** Runs the tasks of the service in parallel, but each task only once at a time. */
export interface TaskLoop extends AsyncDisposable {
  /** Starts with a run of every task. Call once. */
  start(): void;
  /** Makes all tasks that do not ignore nudges run soon. Several nudges, or nudges during a run, cause one more run. */
  nudge(): void;
}

/** Shortest pause between a run and the next nudged one: many requests must not cause as many runs. */
export const NUDGE_GAP_MS = 20;
/** Longest pause that a task may request after a long run. */
export const REST_MAXIMUM_MS = 5000;
/** Backoff after failures, with jitter, doubling up to a maximum. Short, so that the service recovers by itself. */
export const RETRY_FIRST_MS = 500;
export const RETRY_CAP_MS = 10_000;
/** Jitter of intervals, as a fraction, so that replicas do not run in lockstep. */
const JITTER = 0.1;

/** Disposing aborts current runs and waits for them to end. */
export function createTaskLoop(
  tasks: readonly Task[],
  machine: Pick<ServiceMachine, "clock" | "random" | "log">,
): TaskLoop {
  const stopping = new AbortController();
  const runners = tasks.map((task) => createRunner(task, machine, stopping.signal));
  const nudged = runners.filter((_runner, index) => tasks[index]?.ignoresNudges !== true);
  let ended: Promise<unknown> = Promise.resolve();
  return {
    start() {
      ended = Promise.all(runners.map((runner) => runner.runUntilStopped()));
    },
    nudge() {
      for (const runner of nudged) runner.nudge();
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      for (const runner of runners) runner.nudge();
      await ended;
    },
  };
}

interface Runner {
  runUntilStopped(): Promise<void>;
  nudge(): void;
}

function createRunner(
  task: Task,
  { clock, random, log }: Pick<ServiceMachine, "clock" | "random" | "log">,
  stopping: AbortSignal,
): Runner {
  const backoff = createBackoff({ firstMs: RETRY_FIRST_MS, capMs: RETRY_CAP_MS, random });
  let wake = new AbortController();
  let failure: string | null = null;

  /** Resolves early when `until` aborts. */
  async function wait(durationMs: number, until: AbortSignal): Promise<void> {
    try {
      await clock.sleep(Math.max(0, durationMs), until);
    } catch (error) {
      if (!until.aborted) throw error;
    }
  }

  async function runOnce(): Promise<void> {
    try {
      await task.run(stopping);
      if (failure !== null) log.info("task_recovered", { task: task.name, failures: backoff.attempts });
      failure = null;
      backoff.reset();
    } catch (error) {
      // Errors of an aborted run are not logged.
      if (stopping.aborted) return;
      const reason = describe(error);
      if (reason !== failure) log.error("task_failed", { task: task.name, error: reason });
      failure = reason;
    }
  }

  return {
    async runUntilStopped() {
      while (!stopping.aborted) {
        wake = new AbortController();
        const beganMs = clock.monotonicMs();
        await runOnce();
        if (failure !== null) {
          // Nudges do not shorten the backoff.
          await wait(backoff.nextMs(), stopping);
          continue;
        }
        const restMs = Math.min(REST_MAXIMUM_MS, (clock.monotonicMs() - beganMs) * (task.restRatio ?? 0));
        const gapMs = Math.max(NUDGE_GAP_MS, restMs);
        await wait(gapMs, stopping);
        const jitter = 1 + (random.unit() * 2 - 1) * JITTER;
        await wait(task.intervalMs * jitter - gapMs, wake.signal);
      }
    },
    nudge() {
      // Each `abort` makes an error with a stack, and a flood of requests nudges thousands of times.
      if (!wake.signal.aborted) wake.abort();
    },
  };
}

function describe(error: unknown): string {
  const cause = unavailable(error);
  if (cause instanceof StoreUnavailableError) return cause.message;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}

/** Items whose failure is remembered, so that it is logged once; the oldest are forgotten, and logged again. */
const REMEMBERED_MAXIMUM = 1000;

/** Runs the work on one of many items. A failure is logged once per reason, and the other items continue. */
export interface FailingItems {
  /**
   * A failed item does not fail the run: otherwise all items would wait for the backoff of one.
   *
   * @throws StoreUnavailableError, which would affect the other items as well.
   */
  attempt(id: string, work: () => Promise<void>): Promise<void>;
}

export function createFailingItems(task: string, log: Log): FailingItems {
  const reasons = new Map<string, string>();
  return {
    async attempt(id, work) {
      try {
        await work();
        reasons.delete(id);
      } catch (error) {
        const cause = unavailable(error);
        if (cause instanceof StoreUnavailableError) throw cause;
        const reason = cause instanceof Error ? cause.message : String(cause);
        if (reasons.get(id) === reason) return;
        log.error("task_item_failed", { task, id, error: cause instanceof Error ? (cause.stack ?? reason) : reason });
        const [oldest] = reasons.keys();
        if (oldest !== undefined && reasons.size >= REMEMBERED_MAXIMUM) reasons.delete(oldest);
        reasons.set(id, reason);
      }
    },
  };
}
