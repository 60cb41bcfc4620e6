import { isIP } from "node:net";

import type { FastifyRequest } from "fastify";

import { bearerToken, type Credential } from "../auth/authenticate.ts";
import { readConsoleCookie } from "./console-cookie.ts";

/** What the headers of a request say about its client. */
export interface Arrival {
  readonly credential: Credential | null;
  /** Address of the client; behind a trusted proxy, the one it names. */
  readonly address: string;
}

/**
 * The credential of a request. Browsers send cookies also with requests that other sites cause, so the cookie counts only for requests of
 * the console's own page, and only without an `Authorization` header.
 */
export function arrivalOf(request: FastifyRequest): Arrival {
  return { credential: credentialOf(request, isFromConsole), address: clientAddress(request) };
}

/**
 * As `arrivalOf`, for an EventSource, which cannot send the console's own header. Other sites cannot read the events, because the answer
 * allows no other origin to.
 */
export function listenerArrivalOf(request: FastifyRequest): Arrival {
  return { credential: credentialOf(request, isSameOrigin), address: clientAddress(request) };
}

function credentialOf(request: FastifyRequest, isOwnPage: (request: FastifyRequest) => boolean): Credential | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const token = bearerToken(authorization);
    return token === null ? null : { kind: "bearer", token };
  }
  const token = readConsoleCookie(request);
  return token !== null && isOwnPage(request) ? { kind: "console", token } : null;
}

/** Used when a proxy sends something that is not an address, such as `unknown` (RFC 7239, 6.2). */
const UNKNOWN = "unknown";

/** The client's address: the peer's, or the one that a trusted proxy names. Of bounded length. */
export function clientAddress({ ip }: { readonly ip: string }): string {
  return isIP(ip) === 0 ? UNKNOWN : ip;
}

/** Only pages of the same origin can set this header; for others the browser's CORS preflight fails (fetch.spec.whatwg.org, CORS protocol). */
const CONSOLE_HEADER = "x-robot-policy-console";

type FromBrowser = Pick<FastifyRequest, "headers" | "protocol" | "host">;

/** Whether the request comes from the console's own page, by its headers. */
export function isFromConsole(request: FromBrowser): boolean {
  return request.headers[CONSOLE_HEADER] === "1" && isSameOrigin(request);
}

/**
 * Whether nothing in the headers says that another origin sent the request.
 *
 * The browser sets `Sec-Fetch-Site`, and no page can change it. Old browsers, and all browsers over plain HTTP, do not send it; then
 * `Origin` must match the requested host.
 */
export function isSameOrigin({ headers, protocol, host }: FromBrowser): boolean {
  const { "sec-fetch-site": site, origin } = headers;
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || origin === `${protocol}://${host}`;
}
