import type { ErrorCode, RefusalReason } from "../../../api/wire/errors.ts";
import { validationAnswer } from "../validation/answer.ts";
import type { Finding } from "../validation/finding.ts";

/** A complete answer: status and JSON text. */
export interface Answer {
  readonly status: number;
  readonly json: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An encoded JSON text, which several answers may share. */
export interface ReadyAnswer {
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A JSON text too long to hold in memory at once. If it fails halfway, the connection is closed, so that no client takes it for complete. */
export interface LongAnswer {
  readonly status: number;
  readonly parts: AsyncIterable<string>;
  readonly headers?: Readonly<Record<string, string>>;
}

export type AnyAnswer = Answer | ReadyAnswer | LongAnswer;

/** HTTP status of each error code. */
const STATUS: Readonly<Record<ErrorCode, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  Conflict: 409,
  PayloadTooLarge: 413,
  RateLimited: 429,
  Unavailable: 503,
};

export function answerJson(json: string): Answer {
  return { status: 200, json };
}

export function answerValue(value: unknown): Answer {
  return answerJson(JSON.stringify(value));
}

/** Tells a refusal from the result of a change that may be refused. */
export function isAnswer(outcome: object): outcome is Answer {
  return "json" in outcome;
}

/** Seconds that a client should wait while the service is unavailable. */
const RETRY_AFTER_S = "5";

/** Refuses a request for a temporary reason, which `detail` states. */
export function refuseUnavailable(detail: string): Answer {
  return refuse("Unavailable", detail, { "retry-after": RETRY_AFTER_S });
}

/** A refusal other than 422. `detail` is one sentence for a person, `reason` is for programs. */
export function refuse(
  code: ErrorCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
  reason?: RefusalReason,
): Answer {
  return { status: STATUS[code], json: JSON.stringify({ detail, message: detail, code, reason }), headers };
}

/** Refuses a request with invalid HTTP or encoding; as in FastAPI the body has only `detail`. */
export function refuseUnreadable(status: number, detail: string): Answer {
  return { status, json: JSON.stringify({ detail }) };
}

/** The answer to a bug of the service; details are only in the log. */
export function answerBroken(): Answer {
  return { ...refuse("Unavailable", "The service failed to answer this request"), status: 500 };
}

export function refuseInvalid(findings: readonly Finding[]): Answer {
  return { status: 422, json: validationAnswer(findings) };
}
