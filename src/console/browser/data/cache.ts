/** What the service said last, by address: shown at once when a page comes back, and asked for again behind it. */
import { createStore } from "../store.ts";
import type { Store } from "../store.ts";
import type { Problem } from "./request.ts";
import { request } from "./request.ts";
import { sessionEnded } from "./session.ts";

/** The kinds of things that events speak of. */
export type Topic = "robots" | "fleets" | "deployments" | "models" | "keys" | "usage";

/** What is known of an address. A failure keeps what was known before it. */
export interface Known<T> {
  readonly value: T | undefined;
  readonly problem: Problem | null;
  /** Since the page was loaded; null before the first answer. */
  readonly answered_at_ms: number | null;
}

interface Entry {
  readonly path: string;
  readonly topics: readonly Topic[];
  readonly known: Store<Known<unknown>>;
  watchers: number;
  isStale: boolean;
  /** The request under way. */
  asking: AbortController | null;
  /** Waits for its turn. */
  timer: ReturnType<typeof setTimeout> | undefined;
  nextAtMs: number;
}

/** Answers that are kept for a page that may come back. */
const ENTRIES_MAXIMUM = 64;
/** At the least between two requests for the same thing. */
const INTERVAL_MS = 1000;
/** A list that took long to make is asked for less often: this many times as long as it took. */
const REST_FACTOR = 5;
/** After a failure that may pass by itself. */
const FAILURE_REST_MS = 10_000;

const entries = new Map<string, Entry>();

/** Looks at an address until the returned function is called; the last one to look away ends a request under way. */
export function watch(path: string, topics: readonly Topic[], listener: () => void): () => void {
  const entry = entryOf(path, topics);
  entry.watchers += 1;
  const unsubscribe = entry.known.subscribe(listener);
  if (entry.isStale) refresh(entry);
  return () => {
    unsubscribe();
    entry.watchers -= 1;
    if (entry.watchers > 0) return;
    clearTimeout(entry.timer);
    entry.timer = undefined;
    entry.isStale = true;
    entry.asking?.abort();
    entry.asking = null;
  };
}

export function known(path: string, topics: readonly Topic[]): Known<unknown> {
  return entryOf(path, topics).known.get();
}

/** Asks again now, whatever is known. */
export function reload(path: string): void {
  const entry = entries.get(path);
  if (entry === undefined) return;
  askNow(entry);
}

/** What is known of these may have changed: asks again for what is looked at in its turn, and for the rest when it is next. */
export function invalidate(topics: readonly Topic[]): void {
  for (const entry of entries.values()) {
    if (!entry.topics.some((topic) => topics.includes(topic))) continue;
    entry.isStale = true;
    if (entry.watchers > 0) refresh(entry);
  }
}

/** The page was away, or the service: asks for everything that is looked at, now. */
export function invalidateAll(): void {
  for (const entry of entries.values()) {
    entry.isStale = true;
    if (entry.watchers > 0) askNow(entry);
  }
}

/** Forgets everything: the next person may be of another organization. */
export function forgetAll(): void {
  for (const entry of entries.values()) {
    clearTimeout(entry.timer);
    entry.asking?.abort();
  }
  entries.clear();
}

function refresh(entry: Entry): void {
  if (entry.asking !== null || entry.timer !== undefined) return;
  const waitMs = entry.nextAtMs - performance.now();
  if (waitMs <= 0) void ask(entry);
  else entry.timer = setTimeout(() => askInTurn(entry), waitMs);
}

function askNow(entry: Entry): void {
  clearTimeout(entry.timer);
  entry.timer = undefined;
  // A request to a service that was away may hang until its time is over.
  entry.asking?.abort();
  entry.asking = null;
  entry.nextAtMs = 0;
  entry.isStale = true;
  refresh(entry);
}

function askInTurn(entry: Entry): void {
  entry.timer = undefined;
  // Nobody looks at a page in the background; it asks when it is back (live.ts).
  if (document.visibilityState === "visible") void ask(entry);
}

async function ask(entry: Entry): Promise<void> {
  const controller = new AbortController();
  entry.asking = controller;
  entry.isStale = false;
  const startedMs = performance.now();
  const outcome = await request<unknown>("GET", entry.path, { signal: controller.signal });
  if (entry.asking !== controller) return;
  entry.asking = null;
  const nowMs = performance.now();
  entry.nextAtMs = nowMs + Math.max(INTERVAL_MS, REST_FACTOR * (nowMs - startedMs));
  if (outcome.state === "aborted") return;
  if (outcome.state === "answered") {
    entry.known.set({ value: outcome.value, problem: null, answered_at_ms: nowMs });
  } else {
    entry.known.set({ ...entry.known.get(), problem: outcome.problem });
    const { kind } = outcome.problem;
    if (kind === "unauthorized") sessionEnded();
    if (kind === "unreachable" || kind === "refused") {
      entry.isStale = true;
      entry.nextAtMs = nowMs + FAILURE_REST_MS;
    }
  }
  // It changed while it was on its way.
  if (entry.isStale && entry.watchers > 0) refresh(entry);
}

function entryOf(path: string, topics: readonly Topic[]): Entry {
  const found = entries.get(path);
  if (found !== undefined) return found;
  if (entries.size >= ENTRIES_MAXIMUM) dropOldest();
  const known = createStore<Known<unknown>>({ value: undefined, problem: null, answered_at_ms: null });
  const entry = { path, topics, known, watchers: 0, isStale: true, asking: null, timer: undefined, nextAtMs: 0 };
  entries.set(path, entry);
  return entry;
}

function dropOldest(): void {
  for (const [path, { watchers }] of entries) {
    if (watchers > 0) continue;
    entries.delete(path);
    return;
  }
}
