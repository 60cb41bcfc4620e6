import { BlockList, isIP } from "node:net";

/** The number of entries of NO_PROXY that are read. */
const MOST_ENTRIES = 1024;

/**
 * True when NO_PROXY exempts the host. Entries are separated by commas or spaces: `*` for all, a host and everything
 * under it (`example.com`, `.example.com`), only what is under it (`*.example.com`), an address, or a network
 * (`10.0.0.0/8`, `fd00::/8`); each but the networks with an optional port. Names are not resolved to compare them
 * with networks. There is no standard; this is what curl and Go's x/net/http/httpproxy agree on.
 *
 * @param host name or address, an IPv6 address without brackets.
 */
export function isExempt(noProxy: string, host: string, port: number): boolean {
  return noProxy
    .split(/[\s,]+/)
    .slice(0, MOST_ENTRIES)
    .some((entry) => entry !== "" && matches(entry.toLowerCase(), host.toLowerCase(), port));
}

function matches(entry: string, host: string, port: number): boolean {
  const network = /^(?<address>[^/]+)\/(?<bits>\d{1,3})$/.exec(entry)?.groups;
  if (network !== undefined) return isInNetwork(host, network["address"] ?? "", Number(network["bits"]));

  const { name, onlyPort } = split(entry);
  if (onlyPort !== null && onlyPort !== port) return false;
  if (name === "*") return true;
  if (isIP(name) !== 0) return isInNetwork(host, name, isIP(name) === 4 ? 32 : 128);
  if (name.startsWith("*.")) return host.endsWith(name.slice(1));
  const domain = name.replace(/^\./, "").replace(/\.$/, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

/** Splits `host:port` and `[address]:port`; an IPv6 address without brackets has colons and no port. */
function split(entry: string): { name: string; onlyPort: number | null } {
  const parts = /^(?:\[(?<address>[^\]]+)\]|(?<name>[^:]+))(?::(?<port>\d{1,5}))?$/.exec(entry)?.groups;
  if (parts === undefined) return { name: entry, onlyPort: null };
  const port = parts["port"];
  return { name: parts["address"] ?? parts["name"] ?? entry, onlyPort: port === undefined ? null : Number(port) };
}

/** Compares addresses by value, so that their notation does not matter. */
function isInNetwork(host: string, address: string, bits: number): boolean {
  const family = isIP(address);
  if (family === 0 || isIP(host) !== family || bits > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const network = new BlockList();
  network.addSubnet(address, bits, type);
  return network.check(host, type);
}
