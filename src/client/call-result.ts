import type { ValidationError } from "../api/wire/errors.ts";
import type { CredentialProblem } from "./credential.ts";
import type { UnreachableReason } from "./transport/transport.ts";

/** The result of a call. Its texts are one short, printable line without the credential. */
export type CallResult<T> =
  | AnsweredCall<T>
  | Unreachable
  | { readonly kind: "no-credential"; readonly problem: CredentialProblem };

/** No answer; whether the request arrived is unknown. */
export interface Unreachable {
  readonly kind: "unreachable";
  readonly reason: UnreachableReason;
  readonly code: string | null;
  readonly detail: string;
}

export type AnsweredCall<T> =
  | { readonly kind: "ok"; readonly status: number; readonly value: T }
  | {
      /** The service refused the request (4xx) or failed (5xx). */
      readonly kind: "refused";
      readonly status: number;
      readonly detail: string;
      /** The answer is HTML, which the service never sends. */
      readonly isWebPage?: boolean;
      /** Absent where another server answers, as a proxy does. */
      readonly code?: string;
      /** More precise than the status, where programs can act on it; absent where the service gives none. */
      readonly reason?: string;
      /** The findings of a 422, without `input` and `ctx`; null when the answer has none. */
      readonly validation: readonly ValidationError[] | null;
      /** The delay from Retry-After, at most an hour; null for none. */
      readonly retryAfterMs: number | null;
      readonly request_id: string | null;
    }
  | {
      /** The answer is none that this program knows: from a captive portal, a redirect, too large, or JSON with other members. */
      readonly kind: "undecodable";
      readonly status: number;
      readonly detail: string;
      /** It is JSON, so a service gave it. */
      readonly isJson?: boolean;
      /** The JSON, unchanged; not there where it is too deep to print. */
      readonly document?: unknown;
    };

type Refusal = Pick<Extract<AnsweredCall<unknown>, { kind: "refused" }>, "status" | "detail" | "isWebPage">;

/** Refusals that the gateway of a service gives by itself: of addresses, slow and large requests, and too many of them. */
const OF_GATEWAYS: ReadonlySet<number> = new Set([404, 405, 408, 413, 425, 429]);

/** Whether something on the way answers instead of the service: a captive portal, a firewall, or a proxy that no setting names. */
export function isOfNetwork({ status, isWebPage }: Refusal): boolean {
  if (status === 407 || status === 511) return true;
  return isWebPage === true && status < 500 && !OF_GATEWAYS.has(status);
}

/** Whether a refusal may be over soon. */
export function isPassing(refusal: Refusal): boolean {
  const { status } = refusal;
  return status >= 500 || status === 408 || status === 425 || status === 429 || isOfNetwork(refusal);
}

/** A refusal with its status, which `detail` has already where the service gave no reason: `HTTP 500 with an empty body`. */
export function refusalText({ status, detail }: Refusal): string {
  const named = `status ${status} `;
  return detail.startsWith(named) ? `HTTP ${status} ${detail.slice(named.length)}` : `HTTP ${status}: ${detail}`;
}
