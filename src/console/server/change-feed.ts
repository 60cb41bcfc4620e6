import type { ServiceMachine, Store } from "../../service/console-door.ts";
import { StoreUnavailableError } from "../../service/console-door.ts";
import { CHANGE_TOPICS } from "./change-topics.ts";
import type { ChangeTopic } from "./change-topics.ts";
import { changedTopics, readMarks } from "./marks.ts";
import type { Marks } from "./marks.ts";

/** Told which kinds of things changed, in the order of `CHANGE_TOPICS`. */
export type Listener = (topics: readonly ChangeTopic[]) => void;

/** Tells who listens what changed in their organization, whichever replica changed it, about a second later. */
export interface ChangeFeed {
  /**
   * Once it has resolved nothing is missed, but for what leaves no mark: of that the listener hears within `EVERYTHING_MS`.
   *
   * @returns what ends it.
   */
  listen(organizationId: string, listener: Listener): Promise<() => void>;
}

const INTERVAL_MS = 1000;
/** A look at much takes long: the rest after it is so many times as long, and looking takes a twentieth of the time at most. */
const REST_RATIO = 19;
/** How often everything counts as changed: two moves may cancel out in a mark, and the clocks of replicas disagree. */
export const EVERYTHING_MS = 60_000;

/** Looks at the store once a second, and only while somebody listens. */
export function createChangeFeed(
  store: Pick<Store, "reader" | "version">,
  { clock, log }: Pick<ServiceMachine, "clock" | "log">,
  stopping: AbortSignal,
): ChangeFeed {
  const listeners = new Map<Listener, string>();
  let marks: Marks | null = null;
  let isWatching = false;
  let lastLook: Promise<void> = Promise.resolve();

  /** One after the other, so that each compares with the one before it. */
  function look(): Promise<void> {
    lastLook = lastLook.catch(() => {}).then(compare);
    return lastLook;
  }

  async function compare(): Promise<void> {
    const before = marks;
    const now = await readMarks(store, new Set(listeners.values()), before, clock.wallMs());
    marks = now;
    if (before === null) return;
    for (const [listener, organizationId] of listeners) {
      const topics = changedTopics(before, now, organizationId);
      if (topics.length > 0) listener(topics);
    }
  }

  async function watch(): Promise<void> {
    let everythingAtMs = clock.monotonicMs() + EVERYTHING_MS;
    while (listeners.size > 0 && !stopping.aborted) {
      const startedMs = clock.monotonicMs();
      await look().catch(tell);
      const endedMs = clock.monotonicMs();
      if (endedMs >= everythingAtMs) {
        everythingAtMs = endedMs + EVERYTHING_MS;
        for (const listener of listeners.keys()) listener(CHANGE_TOPICS);
      }
      const restMs = Math.max(INTERVAL_MS, REST_RATIO * (endedMs - startedMs));
      await clock.sleep(restMs, stopping).catch(() => {});
    }
    // Nobody sees what changes from now on.
    marks = null;
    isWatching = false;
  }

  /** The next look may do better. Of a store that does not answer the requests tell. */
  function tell(error: unknown): void {
    if (error instanceof StoreUnavailableError) return;
    log.error("change_feed_failed", { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }

  return {
    async listen(organizationId, listener) {
      listeners.set(listener, organizationId);
      const stop = () => {
        listeners.delete(listener);
      };
      try {
        await look();
      } catch (error) {
        stop();
        throw error;
      }
      if (!isWatching) {
        isWatching = true;
        void watch();
      }
      return stop;
    },
  };
}
