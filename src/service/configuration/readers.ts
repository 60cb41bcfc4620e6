import { isIP, isIPv6 } from "node:net";

import { fail, type Place, type Reader } from "../../documents/fields.ts";
import { list, string } from "../../documents/readers.ts";
import { shown } from "../../documents/shown.ts";
import { type ListenAddress, parseListenAddress } from "../kernel/connections/listen-address.ts";
import { hasPassword } from "../kernel/store/store-problem.ts";

/** More proxies than this are better written as a network. */
const TRUSTED_PROXIES_MAXIMUM = 256;

export const listenAddress: Reader<ListenAddress> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  const address = parseListenAddress(written);
  if (address !== null) return address;
  return fail(place, "address_format", `${shown(written)} is not HOST:PORT, such as 127.0.0.1:8080 or "[::1]:8080"`);
};

/** URL of a PostgreSQL database, without a password: other users may read this file. */
export const databaseUrl: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  const url = parseDatabaseUrl(written);
  // Messages do not repeat the URL: it may contain a password.
  if (url === null)
    return fail(place, "url_format", `expected the URL of a database, postgres://USER@HOST/NAME; ${ENCODE_PASSWORD}`);
  if (!hasPassword(url)) return written;
  const message = "the URL contains a password; put the whole URL into a file and set url_file to its path";
  return fail(place, "secret_in_configuration", message);
};

/** Belongs to the remedy for a text that is no such URL. */
export const ENCODE_PASSWORD = "in user and password write @ : / # ? % as %40 %3A %2F %23 %3F %25";

/** Null for a text that is not the URL of a PostgreSQL database. */
export function parseDatabaseUrl(text: string): URL | null {
  if (/[\s\p{Cc}]/u.test(text)) return null;
  const url = URL.parse(text);
  if (url?.protocol !== "postgres:" && url?.protocol !== "postgresql:") return null;
  // One of / ? # ends a password that contains it: what is then the host, and shown, is a part of the password.
  if (url.hash !== "" || url.pathname.includes("@") || url.search.includes("@")) return null;
  return isDecodable(url.username + url.password + url.pathname) ? url : null;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const network: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  if (!isAddressOrNetwork(written)) {
    const message = `${shown(written)} is not an address or network, such as 10.0.0.1 or 10.0.0.0/8`;
    return fail(place, "address_format", message);
  }
  if (!/\/0+$/.test(written)) return written;
  return fail(place, "not_allowed", `${shown(written)} matches every address; any client could then claim any address`);
};

/** Whether a text is an IP address, or a network in CIDR notation. */
export function isAddressOrNetwork(text: string): boolean {
  const [address = "", prefix = "0", ...rest] = text.split("/");
  const bits = isIPv6(address) ? 128 : 32;
  return isIP(address) !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits && rest.length === 0;
}

/** Addresses and networks: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`. */
export const networks = list({ minimum: 0, maximum: TRUSTED_PROXIES_MAXIMUM }, network);

/** Whether the mapping has this key, with a valid or invalid value. */
export function isWritten({ node }: Place, key: string): boolean {
  return node.kind === "mapping" && node.entries.some((entry) => entry.key === key);
}
