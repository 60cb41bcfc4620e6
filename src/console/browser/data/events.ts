/** Hears the service's events over one connection for all windows of the browser. */
import type { Topic } from "./cache.ts";
import { isObject } from "./request.ts";

export type ServiceEvent =
  /** The service is there. */
  | { readonly kind: "sign" }
  /** Null: everything may have changed. */
  | { readonly kind: "changed"; readonly topics: readonly Topic[] | null }
  /** The session is over. */
  | { readonly kind: "ended" };

export interface Events {
  /** The service answers, whatever its events do: connects again where that is due, or at once where the service was `lost`. */
  revive(wasLost: boolean): void;
}

export interface EventsOptions {
  /** Windows of one session share a connection. */
  readonly sessionId: string;
  /** What the store was before the page asked for anything; null where that is unknown. */
  readonly since: string | null;
  readonly signal: AbortSignal;
  hear(event: ServiceEvent): void;
  /** The connection failed; the service may still be there. */
  onFailure(): void;
}

const EVENTS_PATH = "/console/events";
const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 30_000;
/** A stream that is silent for so long is held back by something in between, or dead; the service sends a sign every 2 seconds. */
export const HELD_BACK_MS = 5000;

const TOPICS: readonly string[] = [
  "robots",
  "fleets",
  "deployments",
  "models",
  "keys",
  "usage",
] satisfies readonly Topic[];

/**
 * Hears events until the signal aborts.
 *
 * A browser opens six connections to a service that speaks HTTP/1.1, so that the seventh window would wait for ever if each held a
 * stream of its own. The window that holds the lock connects and passes on what it hears; the next one takes over when it goes.
 * Locks need a secure context (https or loopback): without them each window connects for itself.
 */
export function hearEvents(options: EventsOptions): Events {
  const { sessionId, signal, hear } = options;
  const name = `robot-policy-events/${sessionId}`;
  const channel = new BroadcastChannel(name);
  channel.addEventListener("message", ({ data }: MessageEvent<ServiceEvent>) => hear(data));
  signal.addEventListener("abort", () => channel.close());
  let stream: Events | null = null;

  const lead = () =>
    new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
      stream = openStream({
        ...options,
        hear(event) {
          hear(event);
          // A channel has no target: only windows of this origin and session are on it.
          // oxlint-disable-next-line unicorn/require-post-message-target-origin
          channel.postMessage(event);
        },
      });
    });
  // Rejects where the window goes before its turn.
  if ("locks" in navigator) navigator.locks.request(name, { signal }, lead).catch(() => {});
  else void lead();
  return { revive: (wasLost) => stream?.revive(wasLost) };
}

function openStream({ since, signal, hear, onFailure }: EventsOptions): Events {
  let source: EventSource | null = null;
  let failures = 0;
  let retryAtMs = 0;
  let heardAtMs = 0;

  function connect(path: string): void {
    const opened = new EventSource(path);
    const isFirst = path !== EVENTS_PATH;
    source = opened;
    heardAtMs = performance.now();
    const heard = (event: ServiceEvent) => {
      heardAtMs = performance.now();
      hear(event);
    };
    opened.addEventListener("open", () => {
      failures = 0;
      heard({ kind: "sign" });
      // Whatever happened while nobody listened.
      if (!isFirst) hear({ kind: "changed", topics: null });
    });
    opened.addEventListener("beat", () => heard({ kind: "sign" }));
    opened.addEventListener("changed", ({ data }) => heard({ kind: "changed", topics: topicsOf(data) }));
    opened.addEventListener("ended", () => heard({ kind: "ended" }));
    // Not the browser's own way to connect again: it gives up on an answer other than 200, and has no jitter.
    opened.addEventListener("error", fail);
  }

  function fail(): void {
    close();
    failures += 1;
    const longestMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
    retryAtMs = performance.now() + longestMs * (0.5 + Math.random() / 2);
    onFailure();
  }

  function close(): void {
    source?.close();
    source = null;
  }

  signal.addEventListener("abort", close);
  connect(since === null ? EVENTS_PATH : `${EVENTS_PATH}?since=${since}`);
  return {
    revive(wasLost) {
      const nowMs = performance.now();
      if (source !== null && nowMs - heardAtMs >= HELD_BACK_MS) return fail();
      if (source !== null || (nowMs < retryAtMs && !wasLost)) return;
      // Where events never get through, this is how the windows stay fresh.
      if (failures > 1 && !wasLost) hear({ kind: "changed", topics: null });
      connect(EVENTS_PATH);
    },
  };
}

/** Null, which is everything, for an event that this page does not understand. */
function topicsOf(data: unknown): readonly Topic[] | null {
  try {
    const parsed: unknown = JSON.parse(String(data));
    const topics = isObject(parsed) ? parsed["topics"] : null;
    return Array.isArray(topics) ? topics.filter(isTopic) : null;
  } catch {
    return null;
  }
}

function isTopic(value: unknown): value is Topic {
  return typeof value === "string" && TOPICS.includes(value);
}
