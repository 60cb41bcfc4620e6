import { useEffect, useState } from "preact/hooks";

import { useStore } from "../store.ts";
import { liveness } from "./liveness.ts";
import { isTemporary, type Outcome, type Problem } from "./request.ts";
import { session, sessionEnded } from "./session.ts";
import type { Data } from "./use-data.ts";

/** The last answer; `isAsking` while a newer one is requested. */
export type Answer<T> = Data<T> & { readonly isAsking: boolean; retry(): void };

interface Held<T> {
  readonly value: T | undefined;
  readonly problem: Problem | null;
  /** The key that the value or the problem belongs to. */
  readonly key: string | null;
  readonly isAsking: boolean;
}

/**
 * Sends requests that bypass the cache, when what is asked changes and on `retry`: expensive ones, and those with a body. Events do not
 * repeat them. The previous value is shown until the new one is there, so that the layout does not jump.
 *
 * @param asked names what is asked: the same text for the same answer.
 * @param ask null sends no request.
 * @param delayMs for a key that changes with each letter typed.
 */
export function useAnswer<T>(
  asked: string,
  ask: ((signal: AbortSignal) => Promise<Outcome<T>>) | null,
  delayMs = 0,
): Answer<T> {
  const key = ask === null ? null : asked;
  const [held, setHeld] = useState<Held<T>>({ value: undefined, problem: null, key: null, isAsking: false });
  const [attempt, setAttempt] = useState(0);
  const retry = () => setAttempt((count) => count + 1);
  useEffect(() => {
    if (ask === null) return undefined;
    const controller = new AbortController();
    const send = async () => {
      setHeld((before) => ({ ...before, isAsking: true }));
      const outcome = await ask(controller.signal);
      if (outcome.state === "aborted") return;
      if (outcome.state === "answered") return setHeld({ value: outcome.value, problem: null, key, isAsking: false });
      const { problem } = outcome;
      if (problem.kind === "unauthorized") sessionEnded();
      setHeld(({ value, key: before }) => ({
        value: before === key ? value : undefined,
        problem,
        key,
        isAsking: false,
      }));
    };
    const timer = setTimeout(() => void send(), delayMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key, attempt]);
  const problem = held.key === key ? held.problem : null;
  useRetry(problem, retry);
  const isAsking = held.isAsking || held.key !== key;
  if (held.value !== undefined) return { state: "ready", value: held.value, problem, isAsking, retry };
  return problem === null ? { state: "loading", isAsking, retry } : { state: "failed", problem, isAsking, retry };
}

const RETRY_MS = 20_000;

/**
 * Retries periodically after a temporary failure while the page is visible, when the service is reachable again, and when the person has
 * signed in again.
 */
function useRetry(problem: Problem | null, retry: () => void): void {
  const isSignedIn = useStore(session).state === "signed-in";
  const isLive = useStore(liveness) === "live";
  const mayPass = problem !== null && isTemporary(problem);
  useEffect(() => {
    if (!isSignedIn) return undefined;
    if (problem?.kind === "unauthorized") retry();
    if (!mayPass) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") retry();
    }, RETRY_MS);
    return () => clearInterval(timer);
  }, [problem, isSignedIn]);
  useEffect(() => {
    if (isLive && mayPass) retry();
  }, [isLive]);
}
