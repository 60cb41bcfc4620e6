import type { Unsettled } from "../look/look.ts";
import type { Refusal } from "./decide.ts";
import type { Outcome } from "./outcome.ts";
import type { Registration } from "./registration/registration.ts";
import type { AgentState } from "./status.ts";

/** The result of one run. */
export type Step =
  | Unsettled
  | { readonly kind: "unchanged" }
  /** Backing off after `failure`; delayed by the rate cap or held by a person when that is null. */
  | {
      readonly kind: "waiting";
      readonly untilMs: number;
      readonly failure: Outcome | null;
      readonly isHeld: boolean;
    }
  | { readonly kind: "refused"; readonly reason: Refusal }
  | { readonly kind: "registered"; readonly registration: Registration }
  | { readonly kind: "failed"; readonly failure: Outcome };

/** The state of the agent after a run. */
export function stateAfter(step: Step): AgentState {
  switch (step.kind) {
    case "unsettled":
      return "settling";
    case "unchanged":
    case "registered":
      return "registered";
    case "refused":
      return step.reason;
    case "failed":
      return step.failure.state;
    case "waiting":
      return step.failure?.state ?? (step.isHeld ? "held" : "rate-capped");
  }
}

/**
 * When to run again, unless something changes before, in monotonic milliseconds.
 *
 * @param confirmationDueMs when to ask the service whether it still has the registration.
 */
export function dueAfter(step: Step, confirmationDueMs: number, nowMs: number): number {
  switch (step.kind) {
    case "unsettled":
      return nowMs + step.waitMs;
    case "waiting":
      return step.untilMs;
    case "failed":
      return step.failure.retryAtMs;
    case "unchanged":
    case "registered":
      return confirmationDueMs;
    case "refused":
      return Number.POSITIVE_INFINITY;
  }
}
