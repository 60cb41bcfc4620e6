/**
 * True for the TLS failures that a wrong clock of this machine causes: a certificate that is not valid yet, or no longer.
 * The service may also be the cause: compare the clock with another time, such as the build date.
 *
 * @param code the `code` of a result with reason `tls`.
 */
export function looksLikeClock(code: string | null): boolean {
  return code === "CERT_NOT_YET_VALID" || code === "CERT_HAS_EXPIRED";
}
