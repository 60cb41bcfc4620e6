/**
 * True for the TLS failures that a wrong clock of this machine causes: a certificate that is not valid yet, or no longer.
 * They may also be the service's fault; which one it is shows by comparing the clock with something, for example the
 * build date.
 *
 * @param code the `code` of a result with reason `tls`.
 */
export function looksLikeClock(code: string | null): boolean {
  return code === "CERT_NOT_YET_VALID" || code === "CERT_HAS_EXPIRED";
}
