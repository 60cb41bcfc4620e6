import { useEffect } from "preact/hooks";

import { useStore } from "../store.ts";
import type { Problem } from "./request.ts";
import { session } from "./session.ts";

const RETRY_MS = 20_000;

/**
 * For what is not asked through the cache: asks again by itself after a failure that may pass, as long as somebody looks, and
 * once somebody whose session had ended is back.
 */
export function useRetry(problem: Problem | null, retry: () => void): void {
  const is_signed_in = useStore(session).state === "signed-in";
  useEffect(() => {
    if (!is_signed_in) return undefined;
    if (problem?.kind === "unauthorized") retry();
    if (problem?.kind !== "unreachable" && problem?.kind !== "refused") return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") retry();
    }, RETRY_MS);
    return () => clearInterval(timer);
  }, [problem, is_signed_in]);
}
