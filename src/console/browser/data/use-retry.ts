import { useEffect } from "preact/hooks";

import { useStore } from "../store.ts";
import { liveness } from "./liveness.ts";
import type { Problem } from "./request.ts";
import { session } from "./session.ts";

const RETRY_MS = 20_000;

/**
 * Retries requests that bypass the cache: periodically after a temporary failure while the page is visible, when the service is
 * reachable again, and when the person has signed in again.
 */
export function useRetry(problem: Problem | null, retry: () => void): void {
  const isSignedIn = useStore(session).state === "signed-in";
  const isLive = useStore(liveness) === "live";
  const mayPass = problem?.kind === "unreachable" || problem?.kind === "refused";
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
