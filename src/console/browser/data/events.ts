/** Receives the service's events over one connection for all windows of the browser. */
import { isObject } from "../../../platform/is-object.ts";
import { type Topic, TOPICS } from "../../topics.ts";

export type ServiceEvent =
  | { readonly kind: "beat" }
  /** Null if everything may have changed. */
  | { readonly kind: "changed"; readonly topics: readonly Topic[] | null }
  /** The session has ended. */
  | { readonly kind: "ended" };

export interface EventSubscription {
  /** Call it when the service answers requests: reconnects a dead stream when its delay is over, or at once if `wasUnreachable`. */
  reconnect(wasUnreachable: boolean): void;
}

export interface EventsOptions {
  /** Windows of one session share a connection. */
  readonly sessionId: string;
  /** The store tag from before the page's first request; null if unknown. */
  readonly since: string | null;
  readonly signal: AbortSignal;
  onEvent(event: ServiceEvent): void;
  /** The connection failed; the service may still be there. */
  onFailure(): void;
}

const EVENTS_PATH = "/console/events";
const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 30_000;
/** A stream that is silent for so long is dead, or buffered by a proxy: the service sends a heartbeat every 2 seconds. */
export const STREAM_TIMEOUT_MS = 5000;

/**
 * Receives events until the signal aborts.
 *
 * Browsers open at most six HTTP/1.1 connections to a host: with one stream per window, the seventh window could not load. So the
 * window that holds a lock connects and forwards its events to the others; when it closes, the next window takes over. Locks need a
 * secure context (https or loopback): without them each window opens its own stream.
 */
export function subscribeToEvents(options: EventsOptions): EventSubscription {
  const { sessionId, signal, onEvent } = options;
  const name = `robot-policy-events/${sessionId}`;
  const channel = new BroadcastChannel(name);
  channel.addEventListener("message", ({ data }: MessageEvent<ServiceEvent>) => onEvent(data));
  signal.addEventListener("abort", () => channel.close());
  let stream: EventSubscription | null = null;

  const lead = () =>
    new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
      stream = openStream({
        ...options,
        onEvent(event) {
          onEvent(event);
          // A channel has no target: only windows of this origin and session are on it.
          // oxlint-disable-next-line unicorn/require-post-message-target-origin
          channel.postMessage(event);
        },
      });
    });
  // Rejects if the signal aborts before the window gets the lock.
  if ("locks" in navigator) navigator.locks.request(name, { signal }, lead).catch(() => {});
  else void lead();
  return { reconnect: (wasUnreachable) => stream?.reconnect(wasUnreachable) };
}

function openStream({ since, signal, onEvent, onFailure }: EventsOptions): EventSubscription {
  let source: EventSource | null = null;
  let failures = 0;
  let retryAtMs = 0;
  let eventAtMs = 0;

  function connect(path: string): void {
    const opened = new EventSource(path);
    const isFirst = path !== EVENTS_PATH;
    source = opened;
    eventAtMs = performance.now();
    const received = (event: ServiceEvent) => {
      eventAtMs = performance.now();
      onEvent(event);
    };
    opened.addEventListener("open", () => {
      failures = 0;
      received({ kind: "beat" });
      // Changes during the interruption were missed.
      if (!isFirst) onEvent({ kind: "changed", topics: null });
    });
    opened.addEventListener("beat", () => received({ kind: "beat" }));
    opened.addEventListener("changed", ({ data }) => received({ kind: "changed", topics: topicsOf(data) }));
    opened.addEventListener("ended", () => received({ kind: "ended" }));
    // EventSource's own reconnection gives up on any status other than 200, and has no jitter.
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
    reconnect(wasUnreachable) {
      const nowMs = performance.now();
      if (source !== null && nowMs - eventAtMs >= STREAM_TIMEOUT_MS) return fail();
      if (source !== null || (nowMs < retryAtMs && !wasUnreachable)) return;
      // If events never get through, this keeps the windows up to date.
      if (failures > 1 && !wasUnreachable) onEvent({ kind: "changed", topics: null });
      connect(EVENTS_PATH);
    },
  };
}

/** Null, which means everything, if this page does not understand the event. */
function topicsOf(data: unknown): readonly Topic[] | null {
  try {
    const parsed: unknown = JSON.parse(String(data));
    const topics = isObject(parsed) ? parsed["topics"] : null;
    return Array.isArray(topics) ? TOPICS.filter((topic) => topics.includes(topic)) : null;
  } catch {
    return null;
  }
}
