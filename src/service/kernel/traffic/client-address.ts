import { isIPv6 } from "node:net";

/** The address of a client, at the two sizes that limits count. */
export interface ClientAddress {
  /** The address, or the /64 of an IPv6 address: a client has at least 2^64 of them (RFC 6177). */
  readonly network: string;
  /** The address, or the /48 of an IPv6 address: one subscriber may be assigned that much (RFC 6177). */
  readonly site: string;
}

export function readClientAddress(address: string): ClientAddress {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return { network: mapped, site: mapped };
  return isIPv6(address)
    ? { network: prefixOf(address, 4), site: prefixOf(address, 3) }
    : { network: address, site: address };
}

/** The first groups of an IPv6 address. */
function prefixOf(address: string, groupCount: number): string {
  const [head = "", tail] = address.split("%", 1).join("").split("::");
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - groups.length - tail.split(":").length);
  const padded = [...groups, ...Array.from({ length: missing }, () => "0"), ...(tail?.split(":") ?? [])];
  return `${padded.slice(0, groupCount).join(":")}::/${groupCount * 16}`;
}
