import type { FastifyRequest } from "fastify";

const YEAR_S = 31_536_000;

/** The page loads scripts and data from this service only. */
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
  // Paths contain robot names.
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  // For browsers without frame-ancestors.
  "x-frame-options": "DENY",
} as const;

/** Response headers of the page. */
export function pageHeaders({
  protocol,
  host,
}: Pick<FastifyRequest, "protocol" | "host">): Readonly<Record<string, string>> {
  return isDedicated(protocol, host) ? { ...HEADERS, "strict-transport-security": `max-age=${YEAR_S}` } : HEADERS;
}

/**
 * A browser applies Strict-Transport-Security to every port of a host (RFC 6797, 8.3). On the default port the host is assumed to be
 * ours; on another port it would break other services on the same host that have no TLS.
 */
function isDedicated(protocol: string, host: string): boolean {
  return protocol === "https" && !/:\d+$/.test(host);
}
