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

export type Attempt = { readonly kind: "registered"; readonly robot: RobotView } | FailedAttempt;

export interface FailedAttempt {
  readonly kind: "failed";
  readonly failure: Outcome;
}

/** A person has to fix `unauthorized` and `misconfigured`; this retry notices a fix on the side of the service. */
const PERSON_RETRY_MS = 5 * 60_000;
/** The service would refuse the same body again; once an hour is enough to notice a changed service. */
const REFUSED_RETRY_MS = 60 * 60_000;
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
  switch (result.kind) {
    case "ok": {
      const { robot } = result.value;
      if (robot.name === context.body.name) return { kind: "registered", robot };
      return retrySoon(
        context,
        "foreign-answer",
        `the answer is for the robot ${JSON.stringify(robot.name)}, not for this one`,
      );
    }
    case "undecodable":
      return retrySoon(
        context,
        "undecodable",
        `not an answer of the service (HTTP ${result.status}): ${result.detail}`,
      );
    case "unreachable":
      if (looksLikeClock(result.code) && context.wallMs < RELEASED_AT_MS)
        return retrySoon(context, "clock", describeClock(context.wallMs));
      return retrySoon(
        context,
        result.reason,
        isUnknownIssuer(result.code)
          ? `${result.detail}; for a private certificate authority set service.ca_file`
          : result.detail,
      );
    case "no-credential": {
      const { code, where, what, fix } = result.problem;
      const reason = code === "key-missing" ? "no-credential" : code;
      return retryLater(context, "unauthorized", reason, `${where}: ${what}; ${fix}`, PERSON_RETRY_MS);
    }
    case "refused":
      return judgeRefusal(result, context);
  }
}

function judgeRefusal(result: Extract<CallResult<unknown>, { kind: "refused" }>, context: AttemptContext): Attempt {
  const { status, detail, validation } = result;
  const reason = `http-${status}`;
  const state = stateOfRefusal(result);
  switch (state) {
    case "unreachable":
      return retrySoon(context, reason, detail, result.retryAfterMs);
    case "unauthorized": {
      const { failure } = retryLater(context, state, reason, detail, PERSON_RETRY_MS);
      const credentialRefusal = status === 401 ? "unauthorized" : "forbidden";
      return { kind: "failed", failure: { ...failure, credentialRefusal } };
    }
    case "misconfigured":
      return retryLater(context, state, reason, detail, PERSON_RETRY_MS);
    case "conflict":
      return retryLater(context, state, reason, detail, REFUSED_RETRY_MS);
    case "rejected":
      return retryLater(context, state, reason, detail, REFUSED_RETRY_MS, validation ?? []);
  }
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

function retrySoon(
  context: AttemptContext,
  reason: string,
  detail: string,
  retryAfterMs: number | null = null,
): Attempt {
  const retryAtMs = context.nowMs + context.backoff.nextMs(retryAfterMs);
  const isDelayAsked = retryAfterMs !== null;
  const isRefused = { validation: [], credentialRefusal: null };
  return failed(context, { ...isRefused, state: "unreachable", reason, detail, retryAtMs, isDelayAsked });
}

function retryLater(
  context: AttemptContext,
  state: FailureState,
  reason: string,
  detail: string,
  periodMs: number,
  validation: readonly ValidationError[] = [],
): FailedAttempt {
  context.backoff.reset();
  const retryAtMs = context.nowMs + periodMs * (1 + SPREAD * (context.unitRandom() - 0.5));
  const isRefused = { validation, credentialRefusal: null };
  return failed(context, { ...isRefused, state, reason, detail, retryAtMs, isDelayAsked: false });
}

function failed(
  context: AttemptContext,
  failure: Omit<Outcome, "body" | "route" | "credentialVersion">,
): FailedAttempt {
  const { body, route, credentialVersion } = context;
  return { kind: "failed", failure: { ...failure, body, route, credentialVersion } };
}
