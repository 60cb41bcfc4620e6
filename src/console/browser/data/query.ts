/** Answers of the service: shown at once when a page opens again, and asked for again when their topics change. */
import { useEffect, useRef, useState } from "preact/hooks";

import type { Topic } from "../../topics.ts";
import { createStore, type Store } from "../store.ts";
import { isTemporary, type Outcome, type Problem, request } from "./request.ts";
import { sessionEnded } from "./session.ts";

/** The state of an answer. `ready` with a problem: the last refresh failed, and the value is older. */
export type Data<T> = { retry(): void } & (
  | { readonly state: "loading"; readonly value?: undefined }
  | { readonly state: "failed"; readonly value?: undefined; readonly problem: Problem }
  | {
      readonly state: "ready";
      readonly value: T;
      readonly problem: Problem | null;
      /** The value is that of the query before, until this one is answered. */
      readonly isPrevious: boolean;
    }
);

export interface Query<T> {
  /** The same text for the same answer. */
  readonly key: string;
  ask(signal: AbortSignal): Promise<Outcome<T>>;
  /** The answer is asked for again when one of these changes. Without any it is asked for once, and forgotten with its last reader. */
  readonly topics: readonly Topic[];
}

interface Answer {
  readonly value: unknown;
  readonly problem: Problem | null;
}

const NOTHING: Answer = { value: undefined, problem: null };

interface Entry {
  readonly query: Query<unknown>;
  readonly answer: Store<Answer>;
  readers: number;
  isStale: boolean;
  /** Of the running request. */
  asking: AbortController | null;
  /** When it was answered last, and when it may be asked for again after a failure; milliseconds since the page was loaded. */
  answeredAtMs: number;
  nextAtMs: number;
}

/** Answers kept for pages that are opened again. */
const ENTRIES_MAXIMUM = 64;
/** Pause after a temporary failure. */
const FAILURE_REST_MS = 10_000;
/** Older answers are asked for again in any case: not all that they hold, such as when a key was used last, counts as a change. */
const AGE_MS = 60_000;

const entries = new Map<string, Entry>();

/**
 * The answer to `GET path` while the component is mounted.
 *
 * @param path null sends no request and stays `loading`.
 */
export function useData<T>(path: string | null, topics: readonly Topic[]): Data<T> {
  const ask = (signal: AbortSignal) => request<T>("GET", path ?? "", { signal });
  return useQuery(path === null ? null : { key: path, ask, topics });
}

/**
 * As `useData`, for any request. The previous value is shown until the new one is there, so that the layout does not jump.
 *
 * @param query null sends no request and stays `loading`.
 * @param delayMs for a query that changes with each letter typed.
 */
export function useQuery<T>(query: Query<T> | null, delayMs = 0): Data<T> {
  const [, renderAgain] = useState(0);
  const previous = useRef<unknown>(undefined);
  const key = query?.key ?? "";
  const rendered = entries.get(key)?.answer.get();
  useEffect(() => {
    if (query === null) return undefined;
    let stop = () => {};
    const update = () => renderAgain((count) => count + 1);
    const start = () => {
      stop = watch(query, update);
      // The answer may have arrived between rendering and this effect.
      if (entries.get(key)?.answer.get() !== rendered) update();
    };
    if (delayMs === 0) start();
    const timer = delayMs === 0 ? undefined : setTimeout(start, delayMs);
    return () => {
      clearTimeout(timer);
      stop();
    };
    // Queries with the same key are the same.
  }, [key]);
  const retry = () => {
    const entry = entries.get(key);
    if (entry !== undefined) askNow(entry);
  };
  if (query === null) return { state: "loading", retry };
  const { value, problem } = rendered ?? NOTHING;
  if (isKnown<T>(value)) {
    previous.current = value;
    return { state: "ready", value, problem, isPrevious: false, retry };
  }
  if (problem !== null) return { state: "failed", problem, retry };
  if (!isKnown<T>(previous.current)) return { state: "loading", retry };
  return { state: "ready", value: previous.current, problem: null, isPrevious: true, retry };
}

/** The caller names the type of the answer (src/api); see request.ts on validation. */
function isKnown<T>(value: unknown): value is T {
  return value !== undefined;
}

/** Keeps an answer up to date until the returned function is called. A running request is aborted with its last reader. */
export function watch(query: Query<unknown>, listener: () => void): () => void {
  const known = entries.get(query.key);
  const entry: Entry = known ?? {
    query,
    answer: createStore(NOTHING),
    readers: 0,
    isStale: true,
    asking: null,
    answeredAtMs: 0,
    nextAtMs: 0,
  };
  entries.set(query.key, entry);
  entry.readers += 1;
  const unsubscribe = entry.answer.subscribe(listener);
  if (entry.isStale && entry.asking === null) void ask(entry);
  return () => {
    unsubscribe();
    entry.readers -= 1;
    if (entry.readers > 0) return;
    entry.isStale = true;
    entry.asking?.abort();
    entry.asking = null;
    if (query.topics.length === 0 || entries.size > ENTRIES_MAXIMUM) entries.delete(query.key);
  };
}

/** The topics have changed by what this page did. */
export function invalidate(topics: readonly Topic[]): void {
  for (const entry of entries.values()) {
    if (!entry.query.topics.some((topic) => topics.includes(topic))) continue;
    entry.isStale = true;
    if (entry.readers > 0 && entry.asking === null) void ask(entry);
  }
}

/** Asks again for what has changed, has failed, or is old, as far as it is shown; for the rest when it is shown next. */
export function refresh(changed: readonly Topic[]): void {
  const nowMs = performance.now();
  for (const entry of entries.values()) {
    const { topics } = entry.query;
    const isOld = topics.length > 0 && nowMs - entry.answeredAtMs >= AGE_MS;
    if (isOld || topics.some((topic) => changed.includes(topic))) entry.isStale = true;
    if (entry.isStale && entry.readers > 0 && entry.asking === null && nowMs >= entry.nextAtMs) void ask(entry);
  }
}

/** Asks at once for all that is shown and was not answered, after an outage. */
export function retryAll(): void {
  for (const entry of entries.values())
    if (entry.readers > 0 && (entry.isStale || entry.asking !== null)) askNow(entry);
}

/** Forgets all answers: the next person may belong to another organization. */
export function forgetAll(): void {
  for (const { asking } of entries.values()) asking?.abort();
  entries.clear();
}

function askNow(entry: Entry): void {
  // A request that was sent while the service was unreachable may hang until its timeout.
  entry.asking?.abort();
  void ask(entry);
}

async function ask(entry: Entry): Promise<void> {
  const controller = new AbortController();
  entry.asking = controller;
  entry.isStale = false;
  const outcome = await entry.query.ask(controller.signal);
  if (entry.asking !== controller) return;
  entry.asking = null;
  if (outcome.state === "aborted") return;
  const nowMs = performance.now();
  if (outcome.state === "answered") {
    entry.answeredAtMs = nowMs;
    entry.answer.set({ value: outcome.value, problem: null });
    return;
  }
  const { problem } = outcome;
  if (problem.kind === "unauthorized") sessionEnded();
  else entry.answer.set({ value: entry.answer.get().value, problem });
  if (!isTemporary(problem)) return;
  entry.isStale = true;
  entry.nextAtMs = nowMs + FAILURE_REST_MS;
}

/** Whether all of these have answered or failed, so that they appear together and do not shift the layout one by one. */
export function areSettled(parts: readonly Data<unknown>[]): boolean {
  return parts.every(({ state }) => state !== "loading");
}
