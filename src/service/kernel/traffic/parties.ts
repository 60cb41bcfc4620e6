import { hash } from "node:crypto";
import { isIPv6 } from "node:net";

/** The parties that a request counts for. */
export interface Client {
  /** Hash of the credential; null for a request without one. */
  readonly credential: string | null;
  /** The address, or the /64 of an IPv6 address: a client has at least 2^64 of them (RFC 6177). */
  readonly network: string;
  /** The address, or the /48 of an IPv6 address: one subscriber may be assigned that much (RFC 6177). */
  readonly site: string;
}

/** @param token undefined for a request without credential. */
export function identifyClient(token: string | undefined, address: string): Client {
  return {
    // Hashed, so that a memory dump does not reveal credentials.
    credential: token === undefined ? null : hash("sha256", token, "base64"),
    network: prefixOf(address, 4),
    site: prefixOf(address, 3),
  };
}

/** The first groups of an IPv6 address; any other address unchanged. */
function prefixOf(address: string, groupCount: number): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.split("%", 1).join("").split("::");
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - groups.length - tail.split(":").length);
  const padded = [...groups, ...Array.from({ length: missing }, () => "0"), ...(tail?.split(":") ?? [])];
  return `${padded.slice(0, groupCount).join(":")}::/${groupCount * 16}`;
}

/** How much of a resource each credential, network and site may hold at a time, and all clients together. */
export type Shares = Readonly<Record<Party, number>>;
export type Party = keyof Client | "all";

/** How much of the resource a client holds. */
export interface Share {
  /** Changes the amount if all its parties have room; else returns the party without room, and changes nothing. */
  tryResize(amount: number): Party | null;
  /** Changes the amount even without room. */
  resize(amount: number): void;
}

/** Counts how much of a limited resource clients hold. */
export interface Tally {
  /** Opens a share of 0. A share resized to 0 takes no memory. */
  open(client: Client): Share;
}

export function createTally(shares: Shares): Tally {
  const taken = new Map<string, number>();

  function add(name: string, amount: number): void {
    const sum = (taken.get(name) ?? 0) + amount;
    if (sum === 0) taken.delete(name);
    else taken.set(name, sum);
  }

  return {
    open(client) {
      const parties = partiesOf(client);
      let own = 0;
      const resize = (amount: number) => {
        for (const { name } of parties) add(name, amount - own);
        own = amount;
      };
      return {
        resize,
        tryResize(amount) {
          const full = parties.find(({ party, name }) => {
            const others = (taken.get(name) ?? 0) - own;
            // An amount above the limit is still granted when nobody else holds any.
            return amount > 0 && others > 0 && others + amount > shares[party];
          });
          if (full !== undefined) return full.party;
          resize(amount);
          return null;
        },
      };
    },
  };
}

function partiesOf({ credential, network, site }: Client): readonly { readonly party: Party; readonly name: string }[] {
  return [
    ...(credential === null ? [] : [{ party: "credential" as const, name: `credential ${credential}` }]),
    { party: "network", name: `network ${network}` },
    { party: "site", name: `site ${site}` },
    { party: "all", name: "all" },
  ];
}
