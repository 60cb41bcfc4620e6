import * as z from "zod";

import type { Reader } from "../../manifest/fields.ts";
import { fail } from "../../manifest/fields.ts";
import { isRepeated, string } from "../../manifest/readers.ts";
import { isSecretKey } from "../../manifest/secrets.ts";
import { shown } from "../../manifest/shown.ts";

/** A longer URL is probably a mistake. */
export const URL_LENGTH_MAXIMUM = 2048;
/** Path of the health check, below the URL of the endpoint. */
export const HEALTH_PATH = "/health";

/** A text that must be unique among those read with the same `seen`, which maps each to the offset of its first use. */
export function unique(seen: Map<string, number>, reader: Reader<string>): Reader<string> {
  return (place) => {
    const value = reader(place);
    if (value !== undefined) isRepeated(place, value, seen);
    return value;
  };
}

/** A text of a fixed form. @param rule ends the sentence "X is not …". */
export function matching(isOfForm: (text: string) => boolean, rule: string): Reader<string> {
  return (place) => {
    const written = string(place);
    if (written === undefined || isOfForm(written)) return written;
    return fail(place, "name_format", `${shown(written)} is not ${rule}`);
  };
}

const dateTimeSchema = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A day, in UTC, or a time with its zone. @returns ISO 8601 in UTC with milliseconds. */
export const moment: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  if (dateTimeSchema.safeParse(written).success) return new Date(written).toISOString();
  return fail(place, "date_format", `${shown(written)} is not a date such as 2026-01-31 or 2026-01-31T08:00:00Z`);
};

/** The http(s) URL of an endpoint, without a slash at the end. It is shown to robots and in logs, so it must not contain a secret. */
export const endpointUrl: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  // The URL parser drops white space and control characters, so the result would differ from what was written.
  const isPlain = written.length <= URL_LENGTH_MAXIMUM && !/[\s\p{Cc}\p{Cf}\\]/u.test(written);
  const url = isPlain ? URL.parse(written) : null;
  if (url === null) return fail(place, "url_format", "expected a URL, http://HOST:PORT or https://HOST");
  if (url.username !== "" || url.password !== "" || [...url.searchParams.keys()].some(isSecretKey)) {
    // The message does not repeat the URL.
    return fail(place, "secret_in_catalog", "the URL contains a credential, which every robot and log would show");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return fail(place, "url_format", `the URL begins with ${shown(url.protocol)}; expected http: or https:`);
  }
  if (url.hash !== "") {
    return fail(place, "url_format", "the URL has a fragment, which is never sent; remove the # and all that follows");
  }
  if (url.port === "0") return fail(place, "url_format", "no server listens on port 0");
  return url.search === "" ? url.href.replace(/\/+$/, "") : url.href;
};

/** The health URL of an endpoint, if the catalog gives none. */
export function defaultHealthUrl(endpoint: string): string {
  const url = new URL(endpoint);
  url.search = "";
  url.pathname = url.pathname.replace(/\/+$/, "") + HEALTH_PATH;
  return url.href;
}
