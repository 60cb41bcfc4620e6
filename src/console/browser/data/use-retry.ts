import { useEffect } from "preact/hooks";

import { useStore } from "../store.ts";
import { liveness } from "./liveness.ts";
import type { Problem } from "./request.ts";
import { session } from "./session.ts";

const RETRY_MS = 20_000;

/**
 * For what is not asked through the cache: asks again by itself after a failure that may pass, as long as somebody looks, when the
 * service is back, and once somebody whose session had ended is back.
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
