/** Forms of the values of the service's configuration, each with the code and the sentence of its finding. */
import { isIP, isIPv6 } from "node:net";

import * as z from "zod";

import { formed, list, number, type NumberBounds, refuse } from "../../documents/schemas.ts";
import { shown } from "../../documents/texts.ts";
import { parseListenAddress } from "../kernel/connections/listen-address.ts";
import { hasPassword } from "../kernel/store/store-problem.ts";

const MS_PER_S = 1000;
/** More proxies than this are better written as a network. */
const TRUSTED_PROXIES_MAXIMUM = 256;

export const listenAddress = z.string().transform((written, ctx) => {
  const address = parseListenAddress(written);
  if (address !== null) return address;
  const message = `${shown(written)} is not HOST:PORT, such as 127.0.0.1:8080 or "[::1]:8080"`;
  refuse(ctx, { id: "address_format", message });
  return z.NEVER;
});

/** URL of a PostgreSQL database, without a password: other users may read this file. */
export const databaseUrl = z.string().superRefine((written, ctx) => {
  const url = parseDatabaseUrl(written);
  // Messages do not repeat the URL: it may contain a password.
  if (url === null) {
    const message = `expected the URL of a database, postgres://USER@HOST/NAME; ${ENCODE_PASSWORD}`;
    refuse(ctx, { id: "url_format", message });
  } else if (hasPassword(url)) {
    const message = "the URL contains a password; put the whole URL into a file and set url_file to its path";
    refuse(ctx, { id: "secret_in_configuration", message });
  }
});

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

/** Addresses and networks: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`. */
export const networks = list(
  { minimum: 0, maximum: TRUSTED_PROXIES_MAXIMUM },
  z.string().superRefine((written, ctx) => {
    if (!isAddressOrNetwork(written)) {
      const message = `${shown(written)} is not an address or network, such as 10.0.0.1 or 10.0.0.0/8`;
      refuse(ctx, { id: "address_format", message });
    } else if (/\/0+$/.test(written)) {
      const message = `${shown(written)} matches every address; any client could then claim any address`;
      refuse(ctx, { id: "not_allowed", message });
    }
  }),
);

const HOST = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9][a-z0-9-]{0,62})*$/i;

/** A host, an address, or a network (CIDR). */
export const receiver = formed("address_format", (written) =>
  isAddressOrNetwork(written) || HOST.test(written)
    ? undefined
    : `${shown(written)} is not a host, address or network, such as hooks.lab or 10.0.0.0/8`,
);

/** Whether a text is an IP address, or a network in CIDR notation. */
function isAddressOrNetwork(text: string): boolean {
  const [address = "", prefix = "0", ...rest] = text.split("/");
  const bits = isIPv6(address) ? 128 : 32;
  return isIP(address) !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits && rest.length === 0;
}

/** Milliseconds, written in seconds. */
export function seconds(bounds: NumberBounds, standardMs: number) {
  return number(bounds)
    .transform((written) => Math.round(written * MS_PER_S))
    .default(standardMs)
    .meta({ default: standardMs / MS_PER_S });
}
