import { isIP } from "node:net";

import type { FastifyRequest } from "fastify";

import { bearerToken, type Credential } from "../auth/authenticate.ts";

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
  return { credential: credentialOf(request), address: clientAddress(request) };
}

function credentialOf(request: FastifyRequest): Credential | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const token = bearerToken(authorization);
    return token === null ? null : { kind: "bearer", token };
  }
  const token = readConsoleCookie(request);
  return token !== null && isFromConsole(request) ? { kind: "console", token } : null;
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

type Addressed = Pick<FastifyRequest, "protocol" | "host">;

/**
 * The name of the console's cookie at the address the browser used.
 *
 * Over TLS it has the `__Host-` prefix, so that only this host can set it (RFC 6265bis, 4.1.3.2). Browsers send cookies to every port of a
 * host, so the name contains the port: two consoles on one host, such as two tunnels, do not sign each other out.
 */
function cookieName({ protocol, host }: Addressed): string {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  const name = port === undefined ? "rps_session" : `rps_session_${port}`;
  return protocol === "https" ? `__Host-${name}` : name;
}

/** The value of the console's cookie; null without one. */
export function readConsoleCookie(request: Addressed & Pick<FastifyRequest, "headers">): string | null {
  const { cookie } = request.headers;
  // Nearly all requests come from programs and have no cookie.
  if (cookie === undefined) return null;
  const start = `${cookieName(request)}=`;
  const pair = cookie.split(";").find((each) => each.trimStart().startsWith(start));
  return pair === undefined ? null : pair.trim().slice(start.length);
}

/** The `Set-Cookie` header that stores a token: unreadable to scripts, and not sent with requests from other sites. */
export function keepConsoleCookie(request: Addressed, token: string, maxAgeS: number): string {
  const secure = request.protocol === "https" ? "; Secure" : "";
  return `${cookieName(request)}=${token}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
}

/** The `Set-Cookie` header that deletes the cookie. */
export function dropConsoleCookie(request: Addressed): string {
  return keepConsoleCookie(request, "", 0);
}
