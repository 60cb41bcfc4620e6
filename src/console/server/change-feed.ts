import type { ServiceMachine, Store } from "../../service/console-door.ts";
import { type Topic, TOPICS } from "../topics.ts";
import { logFailure } from "./log-failure.ts";
import { changedTopics, type Marks, readMarks } from "./marks.ts";

/** Called with the changed topics, in the order of `TOPICS`. */
export type Listener = (topics: readonly Topic[]) => void;

/** Reports changes in an organization to its listeners within about a second, whichever replica made them. */
export interface ChangeFeed {
  /**
   * After it resolves, the listener misses no change. A change that the marks do not show is reported within `FULL_REFRESH_MS`.
   *
   * @returns a function that removes the listener.
   */
  listen(organizationId: string, listener: Listener): Promise<() => void>;
}

const INTERVAL_MS = 1000;
/** The pause after a poll is at least so many times as long as the poll, so polling takes at most a twentieth of the time. */
const REST_RATIO = 19;
/** How often every topic is reported as changed: two changes may cancel out in a mark, and the clocks of replicas differ. */
export const FULL_REFRESH_MS = 60_000;

/**
 * Polls the store once a second while there are listeners.
 *
 * @param onlineWindowMs how long after its last heartbeat a robot is online.
 */
export function createChangeFeed(
  store: Pick<Store, "reader" | "version">,
  { clock, log }: Pick<ServiceMachine, "clock" | "log">,
  onlineWindowMs: number,
  stopping: AbortSignal,
): ChangeFeed {
  const listeners = new Map<Listener, string>();
  let marks: Marks | null = null;
  let isPolling = false;
  let lastPoll: Promise<void> = Promise.resolve();
  /** Whether the last poll has yet to begin. */
  let isWaiting = false;

  /** Polls run one after the other: each compares its marks with those of the poll before it. Calls before a poll begins share it. */
  function poll(): Promise<void> {
    if (isWaiting) return lastPoll;
    isWaiting = true;
    lastPoll = lastPoll.catch(() => {}).then(compare);
    return lastPoll;
  }

  async function compare(): Promise<void> {
    isWaiting = false;
    const before = marks;
    const now = await readMarks(store, new Set(listeners.values()), before, {
      nowMs: clock.wallMs(),
      onlineWindowMs,
    });
    marks = now;
    if (before === null) return;
    for (const [listener, organizationId] of listeners) {
      const topics = changedTopics(before, now, organizationId);
      if (topics.length > 0) listener(topics);
    }
  }

  async function pollUntilUnused(): Promise<void> {
    let fullRefreshAtMs = clock.monotonicMs() + FULL_REFRESH_MS;
    while (listeners.size > 0 && !stopping.aborted) {
      const startedMs = clock.monotonicMs();
      await poll().catch((error: unknown) => logFailure(log, "change_feed_failed", error));
      const endedMs = clock.monotonicMs();
      if (endedMs >= fullRefreshAtMs) {
        fullRefreshAtMs = endedMs + FULL_REFRESH_MS;
        for (const listener of listeners.keys()) listener(TOPICS);
      }
      const restMs = Math.max(INTERVAL_MS, REST_RATIO * (endedMs - startedMs));
      await clock.sleep(restMs, stopping).catch(() => {});
    }
    // Old marks would report changes from before the next listener.
    marks = null;
    isPolling = false;
  }

  return {
    async listen(organizationId, listener) {
      listeners.set(listener, organizationId);
      const stop = () => {
        listeners.delete(listener);
      };
      try {
        await poll();
      } catch (error) {
        stop();
        throw error;
      }
      if (!isPolling) {
        isPolling = true;
        void pollUntilUnused();
      }
      return stop;
    },
  };
}
