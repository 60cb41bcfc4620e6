import type { ValidationError } from "../api/wire/errors.ts";
import type { CredentialProblem } from "./credentials.ts";
import type { UnreachableReason } from "./transport/transport.ts";

/** What became of a call. Texts are one line, bounded, printable, and hold no credential. */
export type CallResult<T> =
  | { readonly kind: "ok"; readonly status: number; readonly value: T }
  | {
      /** The service said no (4xx) or could not (5xx). */
      readonly kind: "refused";
      readonly status: number;
      readonly detail: string;
      /** The findings of a 422, without `input` and `ctx`; null when the answer has none. */
      readonly validation: readonly ValidationError[] | null;
      /** What Retry-After asked for, at most an hour. */
      readonly retry_after_ms: number | null;
      readonly request_id: string | null;
    }
  | {
      /** Somebody answered, but not as the service does: a captive portal, a redirect, a body beyond all bounds. */
      readonly kind: "undecodable";
      readonly status: number;
      readonly detail: string;
    }
  | {
      /** No answer; whether the request arrived is unknown. */
      readonly kind: "unreachable";
      readonly reason: UnreachableReason;
      readonly code: string | null;
      readonly detail: string;
    }
  | { readonly kind: "no-credential"; readonly problem: CredentialProblem };
