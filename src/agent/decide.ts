import { isDeepStrictEqual } from "node:util";

import type { RobotSetup } from "../api/robots.ts";
import type { Snapshot } from "../look/snapshot.ts";
import type { Outcome } from "./outcome.ts";
import type { Registration } from "./registration/registration.ts";
import { isOtherMachine } from "./registration/state-file.ts";

/** All inputs of the decision. Times are monotonic milliseconds. */
export interface Situation {
  /** The body to register now, or why there is none. */
  readonly wanted: Wanted;
  readonly registration: Registration | null;
  /** The last attempt that failed; null after a success and before the first attempt. */
  readonly lastFailure: Outcome | null;
  /** Identifies the credential in use, so that a new key is tried at once. */
  readonly credentialVersion: string;
  /** This machine's identifier; null when it has none. */
  readonly machine: string | null;
  readonly serviceUrl: string;
  /** Identifies how the service is reached, so that a corrected proxy or certificate authority is tried at once. */
  readonly route: string;
  /** Why the robot's own credential must not be used now; null when it may, and for robots with an API key. */
  readonly held: HeldBack | null;
  /** True when the name is the one that an operator approved. */
  readonly isNameApproved: boolean;
  /** The manifest shares other files than at the registration. The service is told beside a registration, which is repeated for that. */
  readonly sharesOthers: boolean;
  /** When the hold on registrations ends, monotonic; null without one. */
  readonly holdUntilMs: number | null;
  /** Requested by a person: register even when nothing changed, and do not wait. */
  readonly forced: boolean;
  /** The rate cap: do not register before this time. */
  readonly rateCappedUntilMs: number;
  readonly nowMs: number;
}

export type Wanted =
  | { readonly kind: "body"; readonly body: RobotSetup }
  | { readonly kind: "invalid" }
  | { readonly kind: "draft" };

export type Decision =
  | { readonly kind: "nothing" }
  | { readonly kind: "wait"; readonly untilMs: number; readonly reason: "backoff" | "rate-cap" | "hold" }
  | { readonly kind: "register"; readonly body: RobotSetup }
  | { readonly kind: "refuse"; readonly reason: Refusal };

/** Why no request may be sent. */
export type Refusal = "invalid" | "draft" | "other-machine" | "other-name" | HeldBack;

export type HeldBack = "waiting-for-approval" | "unenrolled" | "frozen" | "lapsed" | "identity-unreadable";

/**
 * Decides what to do in a situation. A pure function.
 *
 * Refusals come first, so that a copied image or an invalid manifest is never registered.
 */
export function decide(situation: Situation): Decision {
  const { wanted, registration, lastFailure, nowMs } = situation;
  // Checked first, so that a copied image is reported as one whatever else is wrong with it.
  if (registration !== null && isOtherMachine(registration, situation.machine)) return refuse("other-machine");
  if (wanted.kind === "invalid") return refuse("invalid");
  if (wanted.kind === "draft") return refuse("draft");
  const { body } = wanted;
  // With the credential of one robot no second one can be registered by mistake.
  if (registration !== null && registration.request.name !== body.name && !situation.isNameApproved)
    return refuse("other-name");
  if (situation.held !== null) return refuse(situation.held);

  const isRegistered = registration !== null && isRegisteredAs(registration, body, situation.serviceUrl);
  if (isRegistered && !situation.sharesOthers && !situation.forced) return { kind: "nothing" };
  // A person who asks does not know that another one calibrates.
  if (situation.holdUntilMs !== null) return { kind: "wait", untilMs: situation.holdUntilMs, reason: "hold" };
  if (situation.forced) return { kind: "register", body };

  if (lastFailure !== null && nowMs < lastFailure.retryAtMs && !isWorthTryingEarly(lastFailure, situation, body)) {
    return { kind: "wait", untilMs: lastFailure.retryAtMs, reason: "backoff" };
  }
  if (nowMs < situation.rateCappedUntilMs) {
    return { kind: "wait", untilMs: situation.rateCappedUntilMs, reason: "rate-cap" };
  }
  return { kind: "register", body };
}

/** See `Situation.sharesOthers`. */
export function sharesOthers(registration: Registration | null, snapshot: Pick<Snapshot, "files"> | null): boolean {
  const pathsOf = ({ files }: Pick<Snapshot, "files">) =>
    files.filter(({ share }) => share === true).map(({ path }) => path);
  if (registration === null || snapshot === null) return false;
  return !isDeepStrictEqual(pathsOf(registration), pathsOf(snapshot));
}

function refuse(reason: Refusal): Decision {
  return { kind: "refuse", reason };
}

function isRegisteredAs(registration: Registration, body: RobotSetup, serviceUrl: string): boolean {
  const isSame = registration.service_url === serviceUrl && isDeepStrictEqual(registration.request, body);
  return isSame && !registration.in_doubt;
}

/**
 * A failure is only valid for the route that was taken, and a refusal for the body and key that were sent: a change is tried at once. Another
 * body or key does not make a service reachable.
 */
function isWorthTryingEarly(failure: Outcome, situation: Situation, body: RobotSetup): boolean {
  if (failure.route !== situation.route) return true;
  switch (failure.state) {
    case "unreachable":
      return false;
    case "unauthorized":
    case "misconfigured":
      return failure.credentialVersion !== situation.credentialVersion;
    case "rejected":
    case "conflict":
      return !isDeepStrictEqual(failure.body, body) || failure.credentialVersion !== situation.credentialVersion;
  }
}
