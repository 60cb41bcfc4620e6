import type { FastifyRequest } from "fastify";

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
