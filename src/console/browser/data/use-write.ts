import { useState } from "preact/hooks";

import { useHeldPlace } from "../router.ts";
import type { Problem } from "./request.ts";
import { request } from "./request.ts";
import { sessionEnded } from "./session.ts";

/** Something that a person has the service do. */
export interface Write<T> {
  /** Under way: whoever asked stays where they are, and does not ask for it twice. */
  readonly isBusy: boolean;
  /** What became of the last try, where that was nothing. */
  readonly problem: Problem | null;
  /** @returns the answer; null where there is none, and where one is still under way. */
  send(method: "POST" | "DELETE", path: string, body?: unknown): Promise<T | null>;
}

/**
 * Writes to the service. As long as a write is under way the page is not left: its answer would be lost, and with it that it failed,
 * or a key that is shown once.
 */
export function useWrite<T>(): Write<T> {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  useHeldPlace(isBusy ? stay : null);
  const send = async (method: "POST" | "DELETE", path: string, body?: unknown) => {
    if (isBusy) return null;
    setBusy(true);
    const outcome = await request<T>(method, path, { body });
    setBusy(false);
    if (outcome.state === "answered") return outcome.value;
    if (outcome.state === "failed") {
      if (outcome.problem.kind === "unauthorized") sessionEnded();
      setProblem(withDoubt(outcome.problem));
    }
    return null;
  };
  return { isBusy, problem, send };
}

function stay(): void {}

/** A request without an answer may have come there all the same. */
function withDoubt(problem: Problem): Problem {
  if (problem.kind !== "unreachable") return problem;
  return { ...problem, detail: `${problem.detail} Whether it was done is not known: look before you try again.` };
}
