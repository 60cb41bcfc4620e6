import { isIP } from "node:net";

/** Stands for what a proxy calls an address and is none (`unknown`, RFC 7239 section 6.2, or anything else). */
const UNKNOWN = "unknown";

/** The client's address, bounded whatever a proxy writes: the peer's own, or behind a trusted proxy the one it names. */
export function clientAddress({ ip }: { readonly ip: string }): string {
  return isIP(ip) === 0 ? UNKNOWN : ip;
}
