import { isIP, isIPv6 } from "node:net";

import type { Place, Reader } from "../../manifest/fields.ts";
import { fail, read, wrongType } from "../../manifest/fields.ts";
import { below } from "../../manifest/path.ts";
import { string } from "../../manifest/readers.ts";
import { shown } from "../../manifest/shown.ts";
import type { ListenAddress } from "../kernel/connections/listen-address.ts";
import { parseListenAddress } from "../kernel/connections/listen-address.ts";

/** More proxies than this are a network, and are named as one. */
export const TRUSTED_PROXIES_MAXIMUM = 256;

export const listenAddress: Reader<ListenAddress> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  const address = parseListenAddress(written);
  if (address !== null) return address;
  fail(place, "address_format", `${shown(written)} is not HOST:PORT, such as 127.0.0.1:8080 or "[::1]:8080"`);
  return undefined;
};

/** Where PostgreSQL is. A password has no place in a file that is read by many. */
export const databaseUrl: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  const url = parseDatabaseUrl(written);
  // The address is never repeated: it may hold a password.
  if (url === null) {
    fail(place, "url_format", "expected the address of a database, postgres://USER@HOST/NAME");
  } else if (url.password !== "" || url.searchParams.has("password")) {
    const message = "the address holds a password; put the whole address into a file and name that as url_file";
    fail(place, "secret_in_configuration", message);
  } else {
    return written;
  }
  return undefined;
};

/** Null for what cannot be the address of a PostgreSQL database. */
export function parseDatabaseUrl(text: string): URL | null {
  if (/[\s\p{Cc}]/u.test(text)) return null;
  const url = URL.parse(text);
  return url?.protocol === "postgres:" || url?.protocol === "postgresql:" ? url : null;
}

/** Addresses and networks: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`. */
export const networks: Reader<readonly string[]> = (place) => {
  const { node, path, check } = place;
  if (node.kind !== "sequence") {
    wrongType(place, "a list of addresses");
    return undefined;
  }
  if (node.items.length > TRUSTED_PROXIES_MAXIMUM) {
    fail(place, "list_length", `expected at most ${TRUSTED_PROXIES_MAXIMUM} items, found ${node.items.length}`);
  }
  return node.items.flatMap((item, index) => {
    const value = read({ node: item, path: below(path, index), check }, network);
    return value === undefined ? [] : [value];
  });
};

const network: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  const [address = "", prefix, ...rest] = written.split("/");
  const bits = isIPv6(address) ? 128 : 32;
  const hasGoodPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  if (isIP(address) === 0 || !hasGoodPrefix || rest.length > 0) {
    fail(place, "address_format", `${shown(written)} is no address or network, such as 10.0.0.1 or 10.0.0.0/8`);
  } else if (prefix === "0") {
    fail(place, "not_allowed", `${shown(written)} is everyone; whoever connects could then claim any address`);
  } else {
    return written;
  }
  return undefined;
};

/** Whether the mapping at a place has this key, with whatever value. */
export function isWritten({ node }: Place, key: string): boolean {
  return node.kind === "mapping" && node.entries.some((entry) => entry.key === key);
}
