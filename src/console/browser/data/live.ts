/** Keeps the page as the service is: asks again for what changed, and notices within five seconds when the service falls silent. */
import { invalidate, invalidateAll } from "./cache.ts";
import { HELD_BACK_MS, hearEvents } from "./events.ts";
import type { ServiceEvent } from "./events.ts";
import { isLost, lastSignMs, liveness } from "./liveness.ts";
import type { Problem } from "./request.ts";
import { reached, request, storeTag } from "./request.ts";
import { serviceNow } from "./service-clock.ts";
import { readSession, sessionEnded } from "./session.ts";

const SESSION_PATH = "/v1/me/session";
/** The service sends a sign every 2 seconds. After so long without one the page asks whether it is there. */
const QUIET_MS = 2500;
/** For the answer then. A service that hangs, or a network that swallows everything, ends no connection. */
const ANSWER_MS = 2000;
/** Between two questions to a service that does not answer, half of it left to chance. */
const RETRY_MS = 1500;

/** Listens while the window is seen, until the returned function is called. */
export function startLive(sessionId: string): () => void {
  let leave = () => {};
  const onVisibility = () => {
    leave();
    if (document.visibilityState === "hidden") return;
    invalidateAll();
    leave = attend(sessionId, null);
  };
  document.addEventListener("visibilitychange", onVisibility);
  liveness.set("connecting");
  // All that a page shows at first was answered after the tag: whether anything changed since, the service says.
  if (document.visibilityState !== "hidden") leave = attend(sessionId, storeTag.get());
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    leave();
  };
}

/** One stretch of time in which the window is seen. */
function attend(sessionId: string, since: string | null): () => void {
  const attendance = new AbortController();
  const { signal } = attendance;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isVerifying = false;
  let heardAtMs = performance.now();
  const events = hearEvents({ sessionId, since, signal, hear, onFailure: verifyNow });

  function hear(event: ServiceEvent): void {
    if (signal.aborted) return;
    heardAtMs = performance.now();
    if (reached.get()) {
      found("live");
      verifyIn(QUIET_MS);
    } else verifyNow();
    if (event.kind === "ended") void readSession();
    if (event.kind !== "changed") return;
    if (event.topics === null) invalidateAll();
    else invalidate(event.topics);
  }

  function found(state: "live" | "connecting"): void {
    const wasLost = isLost();
    lastSignMs.set(serviceNow());
    liveness.set(state);
    if (wasLost) invalidateAll();
  }

  function verifyIn(waitMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => void verify(), waitMs);
  }

  function verifyNow(): void {
    if (!signal.aborted && !isVerifying) verifyIn(0);
  }

  async function verify(): Promise<void> {
    isVerifying = true;
    const outcome = await request<unknown>("GET", SESSION_PATH, { timeoutMs: ANSWER_MS, signal });
    isVerifying = false;
    if (outcome.state === "aborted") return;
    const problem = outcome.state === "failed" ? outcome.problem : null;
    if (problem?.kind === "unauthorized") return sessionEnded();
    if (problem !== null && isSilence(problem)) {
      liveness.set(navigator.onLine ? "waiting" : "offline");
      verifyIn(RETRY_MS * (0.5 + Math.random() / 2));
      return;
    }
    const wasLost = isLost();
    const isHeard = liveness.get() === "live" && performance.now() - heardAtMs < HELD_BACK_MS;
    found(isHeard ? "live" : "connecting");
    verifyIn(QUIET_MS);
    events.revive(wasLost);
  }

  const onReached = () => {
    if (!reached.get()) verifyNow();
  };
  const stopReached = reached.subscribe(onReached);
  for (const name of ["online", "offline"] as const) addEventListener(name, verifyNow, { signal });
  verifyIn(QUIET_MS);
  return () => {
    stopReached();
    clearTimeout(timer);
    attendance.abort();
  };
}

/** A proxy answers 502 or 504 for a service that is gone, and a service that stops 503. Too many requests (429) is an answer. */
function isSilence(problem: Problem): boolean {
  return problem.kind === "unreachable" || (problem.kind === "refused" && problem.status >= 500);
}
