import * as z from "zod";

import type { Reader } from "../../manifest/fields.ts";
import { fail, read, wrongType } from "../../manifest/fields.ts";
import { below } from "../../manifest/path.ts";
import { string } from "../../manifest/readers.ts";
import { isSecretKey } from "../../manifest/secrets.ts";
import { shown } from "../../manifest/shown.ts";

/** How many items a list may have. */
export interface ListBounds {
  readonly minimum: number;
  readonly maximum: number;
}

/** Longer addresses are mistakes. */
export const URL_LENGTH_MAXIMUM = 2048;
/** Where an endpoint tells how it is, below its own address. */
export const HEALTH_PATH = "/health";

/** A list of values, each by the same reader; those that fail are findings and left out. */
export function list<T>({ minimum, maximum }: ListBounds, reader: Reader<T>): Reader<readonly T[]> {
  return (place) => {
    const { node, path, check } = place;
    if (node.kind !== "sequence") {
      wrongType(place, "a list");
      return undefined;
    }
    const { length } = node.items;
    if (length < minimum || length > maximum) {
      fail(place, "list_length", `expected ${minimum} to ${maximum} items, found ${length}`);
    }
    return node.items.flatMap((item, index) => {
      const value = read({ node: item, path: below(path, index), check }, reader);
      return value === undefined ? [] : [value];
    });
  };
}

/** A text that may be written once among all read with the same `seen`, which maps each to where it was first. */
export function unique(seen: Map<string, number>, reader: Reader<string>): Reader<string> {
  return (place) => {
    const value = reader(place);
    if (value === undefined) return undefined;
    const first = seen.get(value);
    if (first === undefined) seen.set(value, place.node.offset);
    else fail(place, "duplicate_name", `${shown(value)} is already used at line ${place.check.findings.line(first)}`);
    return value;
  };
}

/** A text of a fixed form. `rule` ends the sentence "X is not …". */
export function matching(isOfForm: (text: string) => boolean, rule: string): Reader<string> {
  return (place) => {
    const written = string(place);
    if (written === undefined || isOfForm(written)) return written;
    fail(place, "name_format", `${shown(written)} is not ${rule}`);
    return undefined;
  };
}

const dateTimeSchema = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A day, which begins in UTC, or a moment with its time zone. @returns ISO 8601 in UTC with milliseconds. */
export const moment: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  if (dateTimeSchema.safeParse(written).success) return new Date(written).toISOString();
  fail(place, "date_format", `${shown(written)} is not a date such as 2026-01-31 or 2026-01-31T08:00:00Z`);
  return undefined;
};

/** The http(s) address of an endpoint, shown to robots and in logs: so without anything secret. No slash at its end. */
export const endpointUrl: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  // The parser would drop white space and control characters, and the address would not be the one that was read.
  const isPlain = written.length <= URL_LENGTH_MAXIMUM && !/[\s\p{Cc}\p{Cf}\\]/u.test(written);
  const url = isPlain ? URL.parse(written) : null;
  if (url === null) {
    fail(place, "url_format", "expected a web address, http://HOST:PORT or https://HOST");
  } else if (url.username !== "" || url.password !== "" || [...url.searchParams.keys()].some(isSecretKey)) {
    // The address is never repeated.
    fail(place, "secret_in_catalog", "the address holds a credential; every robot and log would see it");
  } else if (url.protocol !== "http:" && url.protocol !== "https:") {
    fail(place, "url_format", `the address begins with ${shown(url.protocol)}; expected http: or https:`);
  } else if (url.hash !== "") {
    fail(place, "url_format", "the address has a fragment, which is never sent; leave out everything from the #");
  } else if (url.port === "0") {
    fail(place, "url_format", "nothing listens on port 0");
  } else {
    return url.search === "" ? url.href.replace(/\/+$/, "") : url.href;
  }
  return undefined;
};

/** Where an endpoint is probed unless the catalog says otherwise. */
export function defaultHealthUrl(endpoint: string): string {
  const url = new URL(endpoint);
  url.search = "";
  url.pathname = url.pathname.replace(/\/+$/, "") + HEALTH_PATH;
  return url.href;
}
