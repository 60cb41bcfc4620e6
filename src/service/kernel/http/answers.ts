import type { ErrorCode } from "../../../api/wire/errors.ts";
import { validationAnswer } from "../validation/answer.ts";
import type { Finding } from "../validation/finding.ts";
import { BODY_VALUES_MAXIMUM } from "./body.ts";

/** What goes back: a status and a JSON text, both final. */
export interface Answer {
  readonly status: number;
  readonly json: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A JSON text in the bytes that go out, which several answers may share. */
export interface ReadyAnswer {
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A JSON text that is too long to be held at once. One that breaks off in the middle ends the connection, so that no client takes it for whole. */
export interface LongAnswer {
  readonly status: number;
  readonly parts: AsyncIterable<string>;
  readonly headers?: Readonly<Record<string, string>>;
}

export type AnyAnswer = Answer | ReadyAnswer | LongAnswer;

/** Status of each code, so that the two never disagree. */
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

/** Seconds a client is asked to wait when the service cannot do anything for it now. */
const RETRY_AFTER_S = "5";

/** For what will be over soon: `detail` says what. */
export function refuseUnavailable(detail: string): Answer {
  return refuse("Unavailable", detail, { "retry-after": RETRY_AFTER_S });
}

/** A refusal other than 422. `detail` is one sentence for a person. */
export function refuse(code: ErrorCode, detail: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status: STATUS[code], json: JSON.stringify({ detail, message: detail, code }), headers };
}

/** A request that broke HTTP or its encoding before it could mean anything; FastAPI sends `detail` alone there. */
export function refuseUnreadable(status: number, detail: string): Answer {
  return { status, json: JSON.stringify({ detail }) };
}

export const TOO_MANY_REQUESTS = refuseUnavailable("Too many requests are waiting");
export const TOO_MANY_VALUES = refuse("PayloadTooLarge", `The body has more than ${BODY_VALUES_MAXIMUM} JSON values`);

/** A bug of ours. The client learns that it was not its fault, the log learns the rest. */
export function answerBroken(): Answer {
  return { ...refuse("Unavailable", "The service failed to answer this request"), status: 500 };
}

export function refuseInvalid(findings: readonly Finding[]): Answer {
  return { status: 422, json: validationAnswer(findings) };
}
