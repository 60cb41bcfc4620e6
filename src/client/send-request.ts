import type { ZodType } from "zod";

import type { Clock } from "../platform/clock.ts";
import { errorCode } from "../platform/files/files.ts";
import { readAnswer } from "./answer.ts";
import type { CallResult, Unreachable } from "./call-result.ts";
import { NO_SECRET, type Secret } from "./secret.ts";
import {
  DEFAULT_TIMEOUTS,
  type HttpAnswer,
  type HttpRequest,
  type Timeouts,
  type Transport,
  TransportError,
} from "./transport/transport.ts";

/** How to send requests to a service. */
export interface ServiceAccess {
  /** Address of the service without `/v1`, as `parseServiceUrl` accepts it; a path in it is kept as a prefix. */
  readonly baseUrl: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly userAgent: string;
  /** `DEFAULT_TIMEOUTS` unless given. */
  readonly timeouts?: Timeouts;
}

/** A request, without the headers that all requests have. */
export interface ServiceRequest {
  readonly method: HttpRequest["method"];
  /** Absolute. */
  readonly url: string;
  /** JSON text, or null for none. */
  readonly body: string | null;
  readonly answerLimitBytes: number;
}

/** The maximum size of an answer with one record, and of one with a list. */
export const RECORD_LIMIT_BYTES = 1_048_576;
export const LIST_LIMIT_BYTES = 33_554_432;

export type SentRequest =
  | { readonly kind: "answered"; readonly answer: HttpAnswer; readonly wallMs: number }
  | Unreachable;

/**
 * Sends one request with this credential, null for none, and reads the answer.
 *
 * @param hidden is removed from texts that may echo the request.
 * @throws only bugs.
 */
export async function callService<T>(
  access: ServiceAccess,
  request: ServiceRequest,
  schema: ZodType<T>,
  credential: Secret | null,
  signal: AbortSignal,
  hidden: Secret = credential ?? NO_SECRET,
): Promise<CallResult<T>> {
  const sent = await sendRequest(access, request, credential, signal);
  if (sent.kind === "unreachable") return sent;
  return readAnswer(sent.answer, { schema, url: request.url, wallMs: sent.wallMs, secret: hidden });
}

/** As `callService`, for the answer as it came. */
export async function sendRequest(
  access: ServiceAccess,
  { method, url, body, answerLimitBytes }: ServiceRequest,
  secret: Secret | null,
  signal: AbortSignal,
): Promise<SentRequest> {
  const authorization = secret === null ? null : `Bearer ${secret.reveal()}`;
  const headers = requestHeaders(access.userAgent, authorization, body !== null);
  const timeouts = access.timeouts ?? DEFAULT_TIMEOUTS;
  try {
    const answer = await access.transport.send({ method, url, headers, body, timeouts, answerLimitBytes }, signal);
    return { kind: "answered", answer, wallMs: access.clock.wallMs() };
  } catch (error) {
    return unreachable(error, secret);
  }
}

/** @throws the error itself if it is a bug. */
export function unreachable(error: unknown, secret: Secret | null): Unreachable {
  if (error instanceof TransportError) {
    const detail = secret === null ? error.message : secret.redactFrom(error.message);
    return { kind: "unreachable", reason: error.reason, code: error.code, detail };
  }
  // What a request needs is loaded with it, and may be unreadable for a while (EMFILE).
  const code = errorCode(error);
  if (code === undefined) throw error;
  return { kind: "unreachable", reason: "other", code, detail: `cannot read a part of this program (${code})` };
}

/** The headers of every request, in the order they are sent. */
export function requestHeaders(
  userAgent: string,
  authorization: string | null,
  hasBody: boolean,
): Readonly<Record<string, string>> {
  return {
    accept: "application/json",
    ...(authorization === null ? {} : { authorization }),
    "user-agent": userAgent,
    ...(hasBody ? { "content-type": "application/json" } : {}),
  };
}

/**
 * The URL of an operation below the service's address, which may have a path.
 *
 * @param path with parameters written `{like_this}`; each becomes one escaped segment.
 * @throws RangeError for a parameter that cannot be a segment (RFC 3986 section 5.2.4); check input with `isPathParameter` first.
 */
export function operationUrl(baseUrl: string, path: string, parameters: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const parameter = parameters[name] ?? "";
    if (!isPathParameter(parameter)) throw new RangeError(`Cannot put ${JSON.stringify(parameter)} into a path`);
    return encodeURIComponent(parameter);
  });
  return baseUrl.replace(/\/+$/, "") + filled;
}

/** Whether a text can be one segment of a path: not empty, not `.` or `..`, and without a lone surrogate, which UTF-8 cannot encode. */
export function isPathParameter(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && text.isWellFormed();
}
