/** Hears from the service what changed, by server-sent events, and has it asked for again. */
import { createStore } from "../store.ts";
import type { Topic } from "./cache.ts";
import { invalidate, invalidateAll } from "./cache.ts";
import { isObject, reached, request, store_tag } from "./request.ts";
import { readSession, sessionEnded } from "./session.ts";

/** `connecting` is the first time, `waiting` after it was lost. */
export type Liveness = "connecting" | "live" | "waiting" | "offline";

export const liveness = createStore<Liveness>("connecting");

const EVENTS_PATH = "/console/events";
const SESSION_PATH = "/v1/me/session";
const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 30_000;
/** Events that stay away mean that nothing changed, or that nothing gets through any more: after so long, the page finds out which. */
const QUIET_MS = 30_000;
/** For the answer then. A service that hangs, or a network that swallows everything, ends no connection. */
const ANSWER_MS = 5000;

const TOPICS: readonly string[] = [
  "robots",
  "fleets",
  "deployments",
  "models",
  "keys",
  "usage",
] satisfies readonly Topic[];

/** Listens until the returned function is called. */
export function startLive(): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let quiet_timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let has_been_away = false;
  let is_over = false;

  liveness.set("connecting");
  // Only a page that somebody sees: a browser has six connections to a service that speaks HTTP/1.1, and a seventh page would wait for
  // ever.
  const connect = () => {
    disconnect();
    if (is_over || document.visibilityState === "hidden") return;
    const is_first = failures === 0 && !has_been_away;
    source = new EventSource(is_first ? pathSince(store_tag.get()) : EVENTS_PATH);
    expectMore();
    source.addEventListener("open", () => {
      // Whatever happened in the meantime.
      if (!is_first) invalidateAll();
      failures = 0;
      has_been_away = false;
      liveness.set("live");
      expectMore();
    });
    source.addEventListener("changed", ({ data }) => {
      heed(topicsOf(data));
      expectMore();
    });
    // Of the session that these events belong to; the browser may have another one by now.
    source.addEventListener("ended", () => void readSession());
    source.addEventListener("error", connectLater);
  };
  // Not the browser's own way to connect again: that gives up on an answer other than 200, and has no jitter.
  const connectLater = () => {
    disconnect();
    failures += 1;
    liveness.set(navigator.onLine ? "waiting" : "offline");
    const longest_ms = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
    timer = setTimeout(() => void checkAndConnect(), longest_ms * (0.5 + Math.random() / 2));
  };
  const checkAndConnect = async () => {
    timer = undefined;
    // An event source does not tell a session that ended from a service that is gone.
    const outcome = await request<unknown>("GET", SESSION_PATH);
    if (outcome.state === "failed" && outcome.problem.kind === "unauthorized") sessionEnded();
    else if (outcome.state === "answered") {
      // Where events never get through (some proxies hold them back), this is how the page stays fresh.
      invalidateAll();
      connect();
    } else connectLater();
  };
  const expectMore = () => {
    clearTimeout(quiet_timer);
    quiet_timer = setTimeout(() => void verify(), QUIET_MS);
  };
  const verify = async () => {
    const verified = source;
    if (verified === null) return;
    clearTimeout(quiet_timer);
    // Something in between holds it back.
    if (verified.readyState === EventSource.CONNECTING) return connectLater();
    const outcome = await request<unknown>("GET", SESSION_PATH, { timeout_ms: ANSWER_MS });
    if (source !== verified) return;
    const kind = outcome.state === "failed" ? outcome.problem.kind : null;
    if (kind === "unauthorized") sessionEnded();
    else if (kind === "unreachable") connectLater();
    else expectMore();
  };
  const onReached = () => {
    if (!reached.get()) void verify();
  };
  const disconnect = () => {
    clearTimeout(quiet_timer);
    clearTimeout(timer);
    timer = undefined;
    source?.close();
    source = null;
  };
  const onVisibility = () => {
    if (document.visibilityState === "hidden") {
      has_been_away = true;
      return disconnect();
    }
    invalidateAll();
    connect();
  };
  const onOnline = () => connect();
  const onOffline = () => liveness.set("offline");

  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("online", onOnline);
  addEventListener("offline", onOffline);
  const stopReached = reached.subscribe(onReached);
  connect();
  return () => {
    is_over = true;
    stopReached();
    document.removeEventListener("visibilitychange", onVisibility);
    removeEventListener("online", onOnline);
    removeEventListener("offline", onOffline);
    disconnect();
  };
}

/** All that a page shows at first was answered after the tag: whether anything changed since, the service says. */
function pathSince(tag: string | null): string {
  return tag === null ? EVENTS_PATH : `${EVENTS_PATH}?since=${tag}`;
}

function heed(topics: readonly Topic[] | null): void {
  if (topics === null) invalidateAll();
  else invalidate(topics);
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
