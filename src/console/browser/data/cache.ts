/** The last answers of the service by URL: shown at once when a page opens again, and refreshed in the background. */
import type { Topic } from "../../topics.ts";
import { createStore, type Store } from "../store.ts";
import { isTemporary, type Problem, request } from "./request.ts";
import { sessionEnded } from "./session.ts";

/** The cached answer of a URL. A failure keeps the value from before. */
export interface Known<T> {
  readonly value: T | undefined;
  readonly problem: Problem | null;
  /** Milliseconds since the page was loaded; null before the first answer. */
  readonly answeredAtMs: number | null;
}

interface Entry {
  readonly path: string;
  readonly topics: readonly Topic[];
  readonly known: Store<Known<unknown>>;
  watchers: number;
  isStale: boolean;
  asking: AbortController | null;
  /** Set while a request is scheduled. */
  timer: ReturnType<typeof setTimeout> | undefined;
  nextAtMs: number;
}

/** Answers kept for pages that are opened again. */
const ENTRIES_MAXIMUM = 64;
/** Shortest time between two requests for the same URL. */
const INTERVAL_MS = 1000;
/** A slow URL is requested less often: the pause is at least this many times the duration of the last request. */
const REST_FACTOR = 5;
/** Pause after a temporary failure. */
const FAILURE_REST_MS = 10_000;

const entries = new Map<string, Entry>();

/** Keeps a URL up to date until the returned function is called. A running request is aborted with its last watcher. */
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

export function reload(path: string): void {
  const entry = entries.get(path);
  if (entry !== undefined) askNow(entry);
}

/** Marks the topics as changed: schedules requests for watched URLs; other URLs are requested when they are watched next. */
export function invalidate(topics: readonly Topic[]): void {
  for (const entry of entries.values()) {
    if (!entry.topics.some((topic) => topics.includes(topic))) continue;
    entry.isStale = true;
    if (entry.watchers > 0) refresh(entry);
  }
}

/** Requests every watched URL at once, after the page was hidden or the service was unreachable. */
export function invalidateAll(): void {
  for (const entry of entries.values()) {
    entry.isStale = true;
    if (entry.watchers > 0) askNow(entry);
  }
}

/** Clears the cache: the next person may belong to another organization. */
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
  // A request that was sent while the service was unreachable may hang until its timeout.
  entry.asking?.abort();
  entry.asking = null;
  entry.nextAtMs = 0;
  entry.isStale = true;
  refresh(entry);
}

function askInTurn(entry: Entry): void {
  entry.timer = undefined;
  // A hidden page requests nothing; live.ts refreshes it when it is visible again.
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
    entry.known.set({ value: outcome.value, problem: null, answeredAtMs: nowMs });
  } else {
    entry.known.set({ ...entry.known.get(), problem: outcome.problem });
    if (outcome.problem.kind === "unauthorized") sessionEnded();
    if (isTemporary(outcome.problem)) {
      entry.isStale = true;
      entry.nextAtMs = nowMs + FAILURE_REST_MS;
    }
  }
  // The data changed during the request.
  if (entry.isStale && entry.watchers > 0) refresh(entry);
}

function entryOf(path: string, topics: readonly Topic[]): Entry {
  const found = entries.get(path);
  if (found !== undefined) return found;
  if (entries.size >= ENTRIES_MAXIMUM) dropOldest();
  const known = createStore<Known<unknown>>({ value: undefined, problem: null, answeredAtMs: null });
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
