/** Keeps the page up to date: fetches what changed, and notices within five seconds when the service stops answering. */
import { invalidate, invalidateAll } from "./cache.ts";
import { type ServiceEvent, STREAM_TIMEOUT_MS, subscribeToEvents } from "./events.ts";
import { isUnreachable, lastAnswerMs, liveness } from "./liveness.ts";
import { type Problem, reached, request, storeTag } from "./request.ts";
import { serviceNow } from "./service-clock.ts";
import { readSession, sessionEnded } from "./session.ts";

const SESSION_PATH = "/v1/me/session";
/** The service sends a heartbeat every 2 seconds. After so long without one, the page sends a request to check the service. */
const SILENCE_MS = 2500;
/** Timeout of that request: a hanging service, or a network that drops packets, does not close connections. */
const ANSWER_MS = 2000;
/** Delay between such requests while the service does not answer, half of it jitter. */
const RETRY_MS = 1500;

/** Receives events while the page is visible, until the returned function is called. */
export function startLive(sessionId: string): () => void {
  let disconnect = () => {};
  const onVisibility = () => {
    disconnect();
    if (document.visibilityState === "hidden") return;
    invalidateAll();
    disconnect = connect(sessionId, null);
  };
  document.addEventListener("visibilitychange", onVisibility);
  liveness.set("connecting");
  // All data of the page is newer than the tag, so the service can tell whether anything changed since.
  if (document.visibilityState !== "hidden") disconnect = connect(sessionId, storeTag.get());
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    disconnect();
  };
}

function connect(sessionId: string, since: string | null): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isVerifying = false;
  let eventAtMs = performance.now();
  const events = subscribeToEvents({ sessionId, since, signal, onEvent, onFailure: verifyNow });

  function onEvent(event: ServiceEvent): void {
    if (signal.aborted) return;
    eventAtMs = performance.now();
    if (reached.get()) {
      setReachable("live");
      verifyIn(SILENCE_MS);
    } else verifyNow();
    if (event.kind === "ended") void readSession();
    if (event.kind !== "changed") return;
    if (event.topics === null) invalidateAll();
    else invalidate(event.topics);
  }

  function setReachable(state: "live" | "connecting"): void {
    const wasUnreachable = isUnreachable();
    lastAnswerMs.set(serviceNow());
    liveness.set(state);
    if (wasUnreachable) invalidateAll();
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
    if (problem !== null && isUnanswered(problem)) {
      liveness.set(navigator.onLine ? "waiting" : "offline");
      verifyIn(RETRY_MS * (0.5 + Math.random() / 2));
      return;
    }
    const wasUnreachable = isUnreachable();
    const isHeard = liveness.get() === "live" && performance.now() - eventAtMs < STREAM_TIMEOUT_MS;
    setReachable(isHeard ? "live" : "connecting");
    verifyIn(SILENCE_MS);
    events.reconnect(wasUnreachable);
  }

  const onReached = () => {
    if (!reached.get()) verifyNow();
  };
  const stopReached = reached.subscribe(onReached);
  for (const name of ["online", "offline"] as const) addEventListener(name, verifyNow, { signal });
  verifyIn(SILENCE_MS);
  return () => {
    stopReached();
    clearTimeout(timer);
    controller.abort();
  };
}

/** A proxy answers 502 or 504 for an unreachable service; a stopping service answers 503. A 429 shows that the service runs. */
function isUnanswered(problem: Problem): boolean {
  return problem.kind === "unreachable" || (problem.kind === "refused" && problem.status >= 500);
}
