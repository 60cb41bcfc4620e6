import { lookup, type LookupAddress, type LookupOptions } from "node:dns";
import { BlockList, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";

import { createOutgoing, type Sent } from "../kernel/outgoing.ts";

/** Which receivers may be sent to: public addresses, and what the configuration allows. */
export interface Receivers {
  /** Why a URL is no receiver, for its creator; null if it may be one. Names are not looked up. */
  problemOf(url: string): string | null;
  /**
   * Looks up a name for a connection, and passes only addresses that may be reached. As the connection goes to the very addresses that were
   * judged, a name cannot resolve to another one in between.
   */
  readonly lookup: (hostname: string, options: LookupOptions, callback: LookupCallback) => void;
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Like the codes of Node's errors. */
const FORBIDDEN_ADDRESS = "EFORBIDDENADDRESS";

/** Not on the Internet (IANA special-purpose registries), or a way to write such an address: 6to4, Teredo, NAT64. */
const SPECIAL_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];
/** Of the global unicast addresses; everything outside of them is refused, too. */
const SPECIAL_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
const GLOBAL_V6 = blockList(["2000::/3"]);
const SPECIAL = blockList([...SPECIAL_V4, ...SPECIAL_V6]);

/** As `lookup` of `node:dns`. */
type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * @param allow hosts, addresses and networks of the configuration.
 * @param interfaces of this machine; throws where the system withholds them.
 */
export function createReceivers(
  allow: readonly string[],
  resolve: Resolve = lookup,
  interfaces: typeof networkInterfaces = networkInterfaces,
): Receivers {
  const names = new Set(allow.map((entry) => entry.toLowerCase()));
  const networks = blockList(allow.filter((entry) => isIP(entry.split("/")[0] ?? "") !== 0));

  function mayReach(address: string): boolean {
    if (contains(networks, address)) return true;
    const isPublic = isIPv4(address) || contains(GLOBAL_V6, address);
    return isPublic && !contains(SPECIAL, address) && !contains(ownNetworks(interfaces), address);
  }

  return {
    problemOf(written) {
      const url = URL.parse(written);
      if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return "write an https URL";
      if (url.username !== "" || url.password !== "") return "the URL must not contain a user or password";
      if (url.hash !== "") return "the URL must not contain a fragment";
      const host = hostOf(url.hostname);
      if (names.has(host)) return null;
      if (url.protocol === "http:") return "only https, unless the configuration of the service allows the host";
      if (isIP(host) === 0) return null;
      try {
        return mayReach(host)
          ? null
          : "the address is not public, and the configuration of the service does not allow it";
      } catch {
        return "the service cannot read its own addresses, and its configuration does not allow this one";
      }
    },
    lookup(hostname, options, callback) {
      resolve(hostname, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return callback(error, []);
        let reachable: LookupAddress[];
        try {
          reachable = names.has(hostOf(hostname)) ? addresses : addresses.filter(({ address }) => mayReach(address));
        } catch (problem) {
          // Thrown from this callback, it would end the process.
          return callback(problem instanceof Error ? problem : new Error(String(problem)), []);
        }
        const [first] = reachable;
        if (first === undefined) return callback(forbidden(), []);
        return options.all === true ? callback(null, reachable) : callback(null, first.address, first.family);
      });
    },
  };
}

/**
 * The host without the brackets of an IPv6 address and the dot of a complete name. URL writes every form of an address (0x7f.1, 2130706433)
 * in the usual one.
 */
function hostOf(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

function forbidden(): Error {
  return Object.assign(new Error("The name has no public address"), { code: FORBIDDEN_ADDRESS });
}

/** Addresses and networks of this machine, which may be public ones. */
function ownNetworks(interfaces: typeof networkInterfaces): BlockList {
  const own = Object.values(interfaces()).flatMap((addresses) => addresses ?? []);
  return blockList(own.flatMap(({ cidr }) => cidr ?? []));
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    list.addSubnet(address, prefix === undefined ? (family === "ipv4" ? 32 : 128) : Number(prefix), family);
  }
  return list;
}

function contains(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends events. */
export interface Sender extends AsyncDisposable {
  /** One POST. Never throws. */
  send(message: Message, signal: AbortSignal): Promise<Sent>;
}

/** Only the status counts; more of an answer closes the connection. */
const ANSWER_BYTES = 1024;
const FORBIDDEN = "the address is not public";

/** Each message opens a connection, so that every address is judged. */
export function createSender({ lookup, problemOf }: Receivers, timeoutMs: number): Sender {
  const reasons = new Map([[FORBIDDEN_ADDRESS, FORBIDDEN]]);
  const outgoing = createOutgoing({ timeoutMs, answerBytes: ANSWER_BYTES, lookup, reasons });
  return {
    async send({ url, headers, body }, signal) {
      // An address in a URL is not looked up. The configuration may allow less than when the webhook was created.
      if (problemOf(url) !== null) return { state: "failed", reason: FORBIDDEN };
      return outgoing.send(
        url,
        { method: "POST", headers: { ...headers, "content-type": "application/json" }, body },
        signal,
      );
    },
    [Symbol.asyncDispose]: () => outgoing[Symbol.asyncDispose](),
  };
}
