/** Keeps the page up to date: asks every two seconds what changed, and so notices within five when the service stops answering. */
import { type Topic, TOPICS, type Versions } from "../../topics.ts";
import { createStore } from "../store.ts";
import { refresh, retryAll } from "./query.ts";
import { type Problem, request, serviceNow } from "./request.ts";
import { sessionEnded } from "./session.ts";

/** `connecting`: before the first answer. `waiting`: the service does not answer, and the page shows old data. */
export type Liveness = "connecting" | "live" | "waiting";

export const liveness = createStore<Liveness>("connecting");

/** When the service last answered, in milliseconds since the epoch by its own clock. */
export const lastAnswerMs = createStore(0);

const INTERVAL_MS = 2000;
/** A hanging service, or a network that drops packets, closes no connections. */
const TIMEOUT_MS = 2800;
/** Delay between questions while the service does not answer, half of it jitter. */
const RETRY_MS = 1500;

/** As of the last answer; all data of the page is newer. */
let versions: Versions = {};

/** Asks while the page is visible, until the returned function is called. The first time it asks in any case. */
export function startLive(): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsking = false;

  function askIn(waitMs: number): void {
    clearTimeout(timer);
    const isWanted = document.visibilityState === "visible" || liveness.get() === "connecting";
    if (isWanted && !signal.aborted) timer = setTimeout(() => void ask(), waitMs);
  }

  async function ask(): Promise<void> {
    // What is under way decides when to ask next.
    if (isAsking) return;
    isAsking = true;
    const outcome = await request<Versions>("GET", "/console/versions", { timeoutMs: TIMEOUT_MS, signal });
    isAsking = false;
    if (outcome.state === "aborted") return;
    const problem = outcome.state === "failed" ? outcome.problem : null;
    if (problem?.kind === "unauthorized") sessionEnded();
    if (problem !== null && isUnanswered(problem)) {
      liveness.set("waiting");
      return askIn(RETRY_MS * (0.5 + Math.random() / 2));
    }
    const wasUnreachable = liveness.get() === "waiting";
    lastAnswerMs.set(serviceNow());
    liveness.set("live");
    if (wasUnreachable) retryAll();
    if (outcome.state === "answered") refresh(changesTo(outcome.value));
    askIn(INTERVAL_MS);
  }

  document.addEventListener("visibilitychange", () => askIn(0), { signal });
  void ask();
  return () => {
    clearTimeout(timer);
    stopping.abort();
  };
}

/** @returns the topics that have changed since the answer before. */
function changesTo(now: Versions): readonly Topic[] {
  const before = versions;
  versions = now;
  return TOPICS.filter((topic) => now[topic] !== before[topic]);
}

/** A proxy answers 502 or 504 for an unreachable service; a stopping service answers 503. A 429 shows that the service runs. */
function isUnanswered(problem: Problem): boolean {
  return problem.kind === "unreachable" || (problem.kind === "refused" && problem.status >= 500);
}
