import type { FastifyRequest } from "fastify";

type Addressed = Pick<FastifyRequest, "protocol" | "host">;

/**
 * The name of the console's cookie at the address the browser used.
 *
 * Over TLS it has the prefix that keeps everyone but this host from setting it (RFC 6265bis, 4.1.3.2). Browsers send a cookie to every
 * port of a host, so that the name says the port: two consoles at one host, such as two tunnels, do not sign each other out.
 */
function cookieName({ protocol, host }: Addressed): string {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  const name = port === undefined ? "rps_session" : `rps_session_${port}`;
  return protocol === "https" ? `__Host-${name}` : name;
}

/** What the browser keeps in the console's cookie; null where it has none. */
export function readConsoleCookie(request: Addressed & Pick<FastifyRequest, "headers">): string | null {
  const { cookie } = request.headers;
  // Nearly every request is a program's, without any.
  if (cookie === undefined) return null;
  const start = `${cookieName(request)}=`;
  const pair = cookie.split(";").find((each) => each.trimStart().startsWith(start));
  return pair === undefined ? null : pair.trim().slice(start.length);
}

/** The `Set-Cookie` that has the browser keep a token; a script cannot read it, and no other site's page has it sent. */
export function keepConsoleCookie(request: Addressed, token: string, maxAgeS: number): string {
  const secure = request.protocol === "https" ? "; Secure" : "";
  return `${cookieName(request)}=${token}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
}

/** The `Set-Cookie` that has the browser forget it. */
export function dropConsoleCookie(request: Addressed): string {
  return keepConsoleCookie(request, "", 0);
}
