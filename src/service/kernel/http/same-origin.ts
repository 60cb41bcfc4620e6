import type { FastifyRequest } from "fastify";

/** Only a page of the same origin can set it; from any other one the browser would ask first, and is not allowed (fetch.spec.whatwg.org, CORS protocol). */
const CONSOLE_HEADER = "x-robot-policy-console";

type FromBrowser = Pick<FastifyRequest, "headers" | "protocol" | "host">;

/** Whether the request is the console's own page asking, as far as such a request says. */
export function isFromConsole(request: FromBrowser): boolean {
  return request.headers[CONSOLE_HEADER] === "1" && isSameOrigin(request);
}

/**
 * Whether a browser does not say that the page which asks is another one's.
 *
 * `Sec-Fetch-Site` is the browser's own word, which no page and no proxy bends; where a browser does not send it, over plain HTTP or for
 * being old, `Origin` must be the address it asks.
 */
export function isSameOrigin({ headers, protocol, host }: FromBrowser): boolean {
  const { "sec-fetch-site": site, origin } = headers;
  if (site !== undefined) return site === "same-origin";
  return origin === undefined || origin === `${protocol}://${host}`;
}
