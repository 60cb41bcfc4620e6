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
      /** The answer is not one of a service: it comes from a captive portal, redirects, or is too large. */
      readonly kind: "undecodable";
      readonly status: number;
      readonly detail: string;
    };

/** Whether a refusal with this status may be over soon. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

/** A refusal with its status, which `detail` has already where the service gave no reason: `HTTP 500 with plain text`. */
export function refusalText({ status, detail }: { readonly status: number; readonly detail: string }): string {
  const named = `status ${status} `;
  return detail.startsWith(named) ? `HTTP ${status} ${detail.slice(named.length)}` : `HTTP ${status}: ${detail}`;
}
