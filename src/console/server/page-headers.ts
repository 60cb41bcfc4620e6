import type { FastifyRequest } from "fastify";

const YEAR_S = 31_536_000;

/** The page runs our own script and asks our own service; nothing else, whatever gets into it. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
  // Links in the console lead nowhere else, and a path may name a robot.
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  // For what does not know frame-ancestors.
  "x-frame-options": "DENY",
} as const;

/** What browsers are told with the page. */
export function pageHeaders({
  protocol,
  host,
}: Pick<FastifyRequest, "protocol" | "host">): Readonly<Record<string, string>> {
  return isDedicated(protocol, host) ? { ...HEADERS, "strict-transport-security": `max-age=${YEAR_S}` } : HEADERS;
}

/**
 * A browser applies Strict-Transport-Security to every port of a host (RFC 6797, 8.3). On the usual port the host is ours; on another
 * one it would lock operators out of whatever else is served there without TLS.
 */
function isDedicated(protocol: string, host: string): boolean {
  return protocol === "https" && !/:\d+$/.test(host);
}
