import { isIP } from "node:net";

/** Used when a proxy sends something that is not an address, such as `unknown` (RFC 7239, 6.2). */
const UNKNOWN = "unknown";

/** The client's address: the peer's, or the one that a trusted proxy names. Of bounded length. */
export function clientAddress({ ip }: { readonly ip: string }): string {
  return isIP(ip) === 0 ? UNKNOWN : ip;
}
