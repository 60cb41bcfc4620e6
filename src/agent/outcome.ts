import type { RobotView } from "../api/robot-views.ts";
import type { RobotSetup } from "../api/robots.ts";
import type { ValidationError } from "../api/wire/errors.ts";
import { type CallResult, isPassing } from "../client/call-result.ts";
import { isUnknownIssuer, looksLikeClock } from "../client/transport/transport.ts";
import { RELEASED_AT_MS } from "../platform/release.ts";
import type { Backoff } from "../platform/retry.ts";

/** A failed attempt, with the time of the next one (monotonic milliseconds). */
export interface Outcome {
  readonly state: FailureState;
  /** Stable word for logs and scripts, for example `dns`, `timeout`, `http-503`. */
  readonly reason: string;
  /** For a person; bounded and without secrets. */
  readonly detail: string;
  readonly validation: readonly ValidationError[];
  readonly retryAtMs: number;
  /** How the service refused the credential; null when it did not. */
  readonly credentialRefusal: "unauthorized" | "forbidden" | null;
  /** The service asked for the delay. */
  readonly isDelayAsked: boolean;
  /** What was sent, on which route, with which credential. A change of these may lead to an earlier retry. */
  readonly body: RobotSetup;
  readonly route: string;
  readonly credentialVersion: string;
}

export type FailureState = "unreachable" | "unauthorized" | "rejected" | "misconfigured" | "conflict";

export type Attempt =
  | { readonly kind: "registered"; readonly robot: RobotView }
  | { readonly kind: "failed"; readonly failure: Outcome };

/** How long a failure lasts that no retry mends. A person has to fix it, or an input has to change: this notices a fix on the service's side. */
const RETRY_MS = {
  unauthorized: 5 * 60_000,
  misconfigured: 5 * 60_000,
  rejected: 60 * 60_000,
  conflict: 60 * 60_000,
} as const;
/** Random share of a retry period, so that a fleet that failed together does not retry together. */
const SPREAD = 0.2;

/** The circumstances of an attempt. */
export interface AttemptContext {
  readonly body: RobotSetup;
  readonly route: string;
  readonly credentialVersion: string;
  /** Monotonic. */
  readonly nowMs: number;
  readonly wallMs: number;
  readonly backoff: Backoff;
  readonly unitRandom: () => number;
}

/** Decides what an answer of the service means and when to try again. */
export function judge(result: CallResult<{ readonly robot: RobotView }>, context: AttemptContext): Attempt {
  const { body, route, credentialVersion } = context;
  if (result.kind === "ok" && result.value.robot.name === body.name) {
    return { kind: "registered", robot: result.value.robot };
  }
  const { state, reason, detail } = describe(result, context.wallMs);
  const refusal = result.kind === "refused" ? result : null;
  const delayMs = state === "unreachable" ? (refusal?.retryAfterMs ?? null) : null;
  const failure: Outcome = {
    state,
    reason,
    detail,
    validation: state === "rejected" ? (refusal?.validation ?? []) : [],
    retryAtMs: nextAttemptMs(state, delayMs, context),
    credentialRefusal:
      refusal === null || state !== "unauthorized" ? null : refusal.status === 401 ? "unauthorized" : "forbidden",
    isDelayAsked: delayMs !== null,
    body,
    route,
    credentialVersion,
  };
  return { kind: "failed", failure };
}

function describe(
  result: CallResult<{ readonly robot: RobotView }>,
  wallMs: number,
): Pick<Outcome, "state" | "reason" | "detail"> {
  const state = "unreachable";
  switch (result.kind) {
    case "ok": {
      const detail = `the answer is for the robot ${JSON.stringify(result.value.robot.name)}, not for this one`;
      return { state, reason: "foreign-answer", detail };
    }
    case "undecodable": {
      const detail = `not an answer of the service (HTTP ${result.status}): ${result.detail}`;
      return { state, reason: "undecodable", detail };
    }
    case "unreachable": {
      const { reason, code, detail } = result;
      if (looksLikeClock(code) && wallMs < RELEASED_AT_MS)
        return { state, reason: "clock", detail: describeClock(wallMs) };
      const hint = isUnknownIssuer(code) ? "; for a private certificate authority set service.ca_file" : "";
      return { state, reason, detail: detail + hint };
    }
    case "no-credential": {
      const { code, where, what, fix } = result.problem;
      const reason = code === "key-missing" ? "no-credential" : code;
      return { state: "unauthorized", reason, detail: `${where}: ${what}; ${fix}` };
    }
    case "refused":
      return { state: stateOfRefusal(result), reason: `http-${result.status}`, detail: result.detail };
  }
}

/** @param delayMs asked for by the service. */
function nextAttemptMs(
  state: FailureState,
  delayMs: number | null,
  { nowMs, backoff, unitRandom }: AttemptContext,
): number {
  if (state === "unreachable") return nowMs + backoff.nextMs(delayMs);
  backoff.reset();
  return nowMs + RETRY_MS[state] * (1 + SPREAD * (unitRandom() - 0.5));
}

/** What a refusal means, of a registration or of a request about the identity. */
export function stateOfRefusal(refusal: Extract<CallResult<unknown>, { kind: "refused" }>): FailureState {
  if (isPassing(refusal)) return "unreachable";
  switch (refusal.status) {
    case 401:
    case 403:
      return "unauthorized";
    case 404:
    case 405:
      return "misconfigured";
    case 409:
      return "conflict";
  }
  return "rejected";
}

/** Certificates cannot be verified with such a clock. The remedy is to set it, never to skip the verification. */
function describeClock(wallMs: number): string {
  return `this machine's clock is at ${new Date(wallMs).toISOString().slice(0, 10)}; registration continues once it is set`;
}
