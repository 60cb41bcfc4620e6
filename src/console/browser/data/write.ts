import { useState } from "preact/hooks";

import { useUnsaved } from "../router.ts";
import { type Problem, request, type Write as Method } from "./request.ts";
import { sessionEnded } from "./session.ts";

export interface Write<T> {
  /** A request is running: forms disable their buttons. */
  readonly isBusy: boolean;
  /** Why the last request failed. */
  readonly problem: Problem | null;
  /** @returns the answer; null if it failed, or if another request is still running. */
  send(method: Method, path: string, body?: unknown): Promise<T | null>;
}

/**
 * Sends writes to the service. While one runs, the browser asks before the page is left: that would lose its answer, such as an error or
 * a key that is shown only once.
 */
export function useWrite<T>(): Write<T> {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  useUnsaved(isBusy);
  const send = async (method: Method, path: string, body?: unknown) => {
    if (isBusy) return null;
    setBusy(true);
    const outcome = await request<T>(method, path, { body });
    setBusy(false);
    if (outcome.state === "answered") {
      setProblem(null);
      return outcome.value;
    }
    if (outcome.state === "failed") {
      if (outcome.problem.kind === "unauthorized") sessionEnded();
      setProblem(withUnknownOutcome(outcome.problem));
    }
    return null;
  };
  return { isBusy, problem, send };
}

/** A write without an answer may have taken effect. */
function withUnknownOutcome(problem: Problem): Problem {
  if (problem.kind !== "unreachable") return problem;
  return { ...problem, detail: `${problem.detail} The change may have been made: check before you try again.` };
}
