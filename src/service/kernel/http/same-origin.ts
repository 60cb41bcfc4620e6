import type { FastifyRequest } from "fastify";

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
