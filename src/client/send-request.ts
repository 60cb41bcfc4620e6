import type { Clock } from "../platform/clock.ts";
import { errorCode } from "../platform/files/files.ts";
import type { Unreachable } from "./call-result.ts";
import type { Secret } from "./secret.ts";
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

export type SentRequest =
  | { readonly kind: "answered"; readonly answer: HttpAnswer; readonly wallMs: number }
  | Unreachable;

/**
 * Sends one request with this credential; null for none.
 *
 * @throws only bugs.
 */
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
