/** What the service's answers about an identity mean: pure functions. */
import { type CallResult, isOfNetwork, refusalText } from "../../client/call-result.ts";
import type { NamedRobot, Polled, RenewedCredential, Started, Terms } from "../../client/identity-client.ts";
import { type FailureState, stateOfRefusal } from "../outcome.ts";

/** States in which the credential must not be used; a person has to act. */
export type RefusedState = "unenrolled" | "frozen" | "lapsed";

/** No answer to the question. */
export interface Later {
  readonly kind: "later";
  /** As of a registration that fails so; null where the cause is on this computer and may be over soon. */
  readonly state: FailureState | null;
  readonly detail: string;
  readonly retryAfterMs: number | null;
}

export interface Refused {
  readonly kind: "refused";
  readonly state: RefusedState;
  readonly detail: string;
}

export type StartVerdict =
  | { readonly kind: "started"; readonly started: Started }
  /** An installation has the key already, and its credential is not here. */
  | { readonly kind: "fresh-key" }
  | Later;

export function judgeStart(result: CallResult<Started>): StartVerdict {
  if (result.kind === "ok") return { kind: "started", started: result.value };
  if (result.kind === "refused" && result.reason === "key_in_use") return { kind: "fresh-key" };
  return later(result);
}

export type Approved = Extract<Polled, { status: "approved" }>;

export type PollVerdict =
  | { readonly kind: "pending"; readonly waitMs: number | null; readonly reason: string | null }
  | { readonly kind: "approved"; readonly issued: Approved }
  | { readonly kind: "denied" }
  /** The code is over: a new enrolment is needed. */
  | { readonly kind: "over" }
  | { readonly kind: "fresh-key" }
  | Later;

export function judgePoll(result: CallResult<Polled>): PollVerdict {
  if (result.kind === "ok") {
    const polled = result.value;
    switch (polled.status) {
      case "pending":
        return { kind: "pending", waitMs: (polled.retry_after_s ?? 0) * 1000 || null, reason: polled.reason ?? null };
      case "approved":
        return { kind: "approved", issued: polled };
      case "denied":
        return { kind: "denied" };
      case "expired":
        return { kind: "over" };
      case "consumed":
        // The credential was used, but is not here: a state directory that was set back.
        return { kind: "fresh-key" };
    }
  }
  if (result.kind !== "refused") return later(result);
  // Ended enrolments are forgotten after a day.
  if (result.status === 404 && isOfService(result)) return { kind: "over" };
  // The service refuses no poll in another way, and the code expires soon.
  return soon(result);
}

export type RenewalVerdict =
  | { readonly kind: "renewed"; readonly issued: RenewedCredential }
  | { readonly kind: "fresh-nonce" }
  | Refused
  | Later;

export function judgeRenewal(result: CallResult<RenewedCredential>): RenewalVerdict {
  if (result.kind === "ok") return { kind: "renewed", issued: result.value };
  if (result.kind !== "refused") return later(result);
  const detail = refusalText(result);
  switch (result.status) {
    case 401:
      return isOfService(result) ? { kind: "refused", state: "unenrolled", detail } : soon(result);
    case 403: {
      if (!isOfService(result)) return soon(result);
      return { kind: "refused", state: result.reason === "installation_frozen" ? "frozen" : "lapsed", detail };
    }
    case 409:
      return { kind: "fresh-nonce" };
    default:
      return later(result);
  }
}

export type HeartbeatVerdict =
  | { readonly kind: "accepted"; readonly terms: Terms }
  /** The credential is not accepted; a renewal decides. */
  | { readonly kind: "doubted" }
  /** The service has no heartbeats. */
  | { readonly kind: "unknown-here" }
  | Refused
  | Later;

export function judgeHeartbeat(result: CallResult<Terms>): HeartbeatVerdict {
  if (result.kind === "ok") return { kind: "accepted", terms: result.value };
  if (result.kind !== "refused" || isOfNetwork(result)) return later(result);
  switch (result.status) {
    case 401:
      return { kind: "doubted" };
    case 403:
      return result.reason === "installation_frozen"
        ? { kind: "refused", state: "frozen", detail: refusalText(result) }
        : later(result);
    case 404:
    case 405:
    case 501:
      return { kind: "unknown-here" };
    default:
      return later(result);
  }
}

/** The robot's name at the service; null when the service does not say it; no verdict without an answer. */
export function judgeName(result: CallResult<NamedRobot>, robotId: string): { readonly name: string | null } | Later {
  if (result.kind === "ok") return { name: result.value.id === robotId ? result.value.name : null };
  const verdict = later(result);
  return verdict.state === "unreachable" ? verdict : { name: null };
}

type Refusal = Extract<CallResult<unknown>, { kind: "refused" }>;

/** Another server, as a proxy during an outage, gives no code. It does not end what only the service can give again. */
function isOfService({ code }: Refusal): boolean {
  return code !== undefined;
}

function soon(result: Refusal): Later {
  return { ...later(result), state: "unreachable" };
}

function later(result: Exclude<CallResult<unknown>, { kind: "ok" }>): Later {
  switch (result.kind) {
    case "unreachable":
    case "undecodable":
      return { kind: "later", state: "unreachable", detail: result.detail, retryAfterMs: null };
    case "no-credential":
      return { kind: "later", state: "unauthorized", detail: result.problem.what, retryAfterMs: null };
    case "refused": {
      const { retryAfterMs } = result;
      return { kind: "later", state: stateOfRefusal(result), detail: refusalText(result), retryAfterMs };
    }
  }
}
