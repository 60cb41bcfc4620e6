import { hash } from "node:crypto";
import { isIPv6 } from "node:net";

/** Who a request is counted for. */
export interface Client {
  /** A hash of what it authenticates itself with; null for a request without. */
  readonly credential: string | null;
  /** The address, or the /64 of an IPv6 address: a client has at least 2^64 of them (RFC 6177). */
  readonly network: string;
  /** The address, or the /48 of an IPv6 address, which is what one subscriber may be given (RFC 6177). */
  readonly site: string;
}

/** @param token undefined for a request that authenticates itself with none. */
export function identifyClient(token: string | undefined, address: string): Client {
  return {
    // No credential is kept: of a memory dump, only who has it can find it here.
    credential: token === undefined ? null : hash("sha256", token, "base64"),
    network: prefixOf(address, 4),
    site: prefixOf(address, 3),
  };
}

/** The first groups of an IPv6 address; any other address as it is. */
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

/** How much of something each credential, network and site may have at a time, and all of them together. */
export type Shares = Readonly<Record<Party, number>>;
export type Party = keyof Client | "all";

/** What a client has of it. */
export interface Share {
  /** Makes it another amount, if its parties have room for that; else names the one that has not, and leaves it as it was. */
  tryResize(amount: number): Party | null;
  /** Makes it another amount, whether there is room or not. */
  resize(amount: number): void;
}

/** Counts what clients have at a time of something there is only so much of. */
export interface Tally {
  /** A share of nothing yet. Back to nothing, it leaves no trace. */
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
            // Whatever is too large for everything is still taken alone.
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
