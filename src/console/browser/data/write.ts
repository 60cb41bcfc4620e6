import { useState } from "preact/hooks";

import { useUnsaved } from "../unsaved.ts";
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
      setProblem(withRemedy(outcome.problem));
    }
    return null;
  };
  return { isBusy, problem, send };
}

function withRemedy(problem: Problem): Problem {
  const remedy = REMEDIES[problem.kind];
  return remedy === undefined ? problem : { ...problem, detail: `${problem.detail} ${remedy}` };
}

const REMEDIES: Readonly<Partial<Record<Problem["kind"], string>>> = {
  // A write without an answer may have taken effect.
  unreachable: "The change may have been made: check before you try again.",
  unauthorized: "Sign in again in another window, then try again here.",
};
