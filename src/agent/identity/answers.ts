/** What it means that a request about the identity has no result, and when to repeat it. */
import { type CallResult, isOfNetwork, refusalText } from "../../client/call-result.ts";
import type { Random } from "../../platform/random.ts";
import { createBackoff } from "../../platform/retry.ts";
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

/** A request without a result. */
export type Failed = Exclude<CallResult<unknown>, { kind: "ok" }>;
type Refusal = Extract<Failed, { kind: "refused" }>;

/** `over`: a new enrolment is needed. */
export function judgePoll(result: Failed): Later | { readonly kind: "over" } {
  if (result.kind !== "refused") return later(result);
  // Ended enrolments are forgotten after a day.
  if (result.status === 404 && isOfService(result)) return { kind: "over" };
  // The service refuses no poll in another way, and the code expires soon.
  return soon(result);
}

export function judgeRenewal(result: Failed): Refused | Later {
  if (result.kind !== "refused") return later(result);
  const { status, reason } = result;
  // The next one is signed over another nonce.
  if (status === 409) return atHome("the nonce was used before");
  if (status !== 401 && status !== 403) return later(result);
  if (!isOfService(result)) return soon(result);
  const ended = reason === "installation_frozen" ? "frozen" : "lapsed";
  return { kind: "refused", state: status === 401 ? "unenrolled" : ended, detail: refusalText(result) };
}

/** `doubted`: the credential is not accepted, and a renewal decides. */
export function judgeHeartbeat(result: Failed): Refused | Later | { readonly kind: "doubted" } {
  if (result.kind !== "refused" || isOfNetwork(result)) return later(result);
  if (result.status === 401) return { kind: "doubted" };
  const isFrozen = result.status === 403 && result.reason === "installation_frozen";
  return isFrozen ? { kind: "refused", state: "frozen", detail: refusalText(result) } : later(result);
}

/** The cause is on this computer, or with this one request. */
export function atHome(detail: string): Later {
  return { kind: "later", state: null, detail, retryAfterMs: null };
}

export function later(result: Failed): Later {
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

/** Another server, as a proxy during an outage, gives no code. It does not end what only the service can give again. */
function isOfService({ code }: Refusal): boolean {
  return code !== undefined;
}

function soon(result: Refusal): Later {
  return { ...later(result), state: "unreachable" };
}

const MINUTE_MS = 60_000;
/** A person has to act; this retry notices that it was done at the service. */
const PERSON_RETRY_MS = 5 * MINUTE_MS;
const REFUSED_RETRY_MS: Readonly<Record<RefusedState, number>> = {
  unenrolled: 60 * MINUTE_MS,
  frozen: PERSON_RETRY_MS,
  lapsed: PERSON_RETRY_MS,
};
const BACKOFF = { firstMs: 2000, capMs: 2 * MINUTE_MS } as const;
/** Random share of a period, so that robots that were refused together do not ask together. */
const SPREAD = 0.2;

/** How long to wait until a request is repeated. */
export function createPace(random: Random) {
  const backoff = createBackoff({ ...BACKOFF, random });
  const spread = (periodMs: number) => periodMs * (1 + SPREAD * (random.unit() - 0.5));
  return {
    after: ({ state, retryAfterMs }: Later) =>
      state === null || state === "unreachable" ? backoff.nextMs(retryAfterMs) : spread(PERSON_RETRY_MS),
    afterRefusal: (state: RefusedState) => spread(REFUSED_RETRY_MS[state]),
    /** The next delay is a first one again. */
    reset: () => backoff.reset(),
  };
}
