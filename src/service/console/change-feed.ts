import type { ServiceMachine } from "../machine.ts";
import type { Store } from "../store/store.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
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
  listen(organization_id: string, listener: Listener): Promise<() => void>;
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
  let is_watching = false;
  let last_look: Promise<void> = Promise.resolve();

  /** One after the other, so that each compares with the one before it. */
  function look(): Promise<void> {
    last_look = last_look.catch(() => {}).then(compare);
    return last_look;
  }

  async function compare(): Promise<void> {
    const before = marks;
    const now = await readMarks(store, new Set(listeners.values()), before, clock.wall_ms());
    marks = now;
    if (before === null) return;
    for (const [listener, organization_id] of listeners) {
      const topics = changedTopics(before, now, organization_id);
      if (topics.length > 0) listener(topics);
    }
  }

  async function watch(): Promise<void> {
    let everything_at_ms = clock.monotonic_ms() + EVERYTHING_MS;
    while (listeners.size > 0 && !stopping.aborted) {
      const started_ms = clock.monotonic_ms();
      await look().catch(tell);
      const ended_ms = clock.monotonic_ms();
      if (ended_ms >= everything_at_ms) {
        everything_at_ms = ended_ms + EVERYTHING_MS;
        for (const listener of listeners.keys()) listener(CHANGE_TOPICS);
      }
      const rest_ms = Math.max(INTERVAL_MS, REST_RATIO * (ended_ms - started_ms));
      await clock.sleep(rest_ms, stopping).catch(() => {});
    }
    // Nobody sees what changes from now on.
    marks = null;
    is_watching = false;
  }

  /** The next look may do better. Of a store that does not answer the requests tell. */
  function tell(error: unknown): void {
    if (error instanceof StoreUnavailableError) return;
    log.error("change_feed_failed", { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }

  return {
    async listen(organization_id, listener) {
      listeners.set(listener, organization_id);
      const stop = () => {
        listeners.delete(listener);
      };
      try {
        await look();
      } catch (error) {
        stop();
        throw error;
      }
      if (!is_watching) {
        is_watching = true;
        void watch();
      }
      return stop;
    },
  };
}
