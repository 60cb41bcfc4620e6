import type { PageQuery } from "../../api/pages.ts";
import type { Answer } from "../http/answers.ts";
import { refuseInvalid } from "../http/answers.ts";
import type { IdPrefix } from "../ids.ts";
import type { PageRange } from "../store/page-range.ts";
import { ruleBroken } from "../validation/finding.ts";

/** `refused` carries the 422 answer to a cursor that this list never gave out. */
export type ReadPage =
  | { readonly state: "read"; readonly range: PageRange }
  | { readonly state: "refused"; readonly answer: Answer };

/** Items to show, and the headers that go with them. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly headers: Readonly<Record<string, string>>;
}

/** What follows the prefix of an id (ids.ts). */
const UNIQUE_PART = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/**
 * What of a list to fetch, oldest first: `where id > after order by id limit rows`. One row more than the page has room for,
 * because it tells whether another page follows.
 *
 * @param prefix of the ids in this list; a cursor of another list is refused.
 */
export function readPage({ limit, cursor }: PageQuery, prefix: IdPrefix): ReadPage {
  const rows = limit === undefined ? null : limit + 1;
  if (cursor === undefined) return { state: "read", range: { after: null, rows } };
  const after = decodeCursor(cursor, prefix);
  if (after !== null) return { state: "read", range: { after, rows } };
  const fault = ruleBroken("the cursor is not one this list gave out");
  return { state: "refused", answer: refuseInvalid([{ ...fault, loc: ["query", "cursor"], input: cursor }]) };
}

/**
 * The page of the rows that were fetched by `readPage`, with a `Link` to the next one where there is one (RFC 8288).
 *
 * @param url path and query of the request; its other query parameters are in the link as well.
 */
export function pageOf<Row extends { readonly id: string }>(
  fetched: readonly Row[],
  { limit }: PageQuery,
  url: string,
): Page<Row> {
  if (limit === undefined || fetched.length <= limit) return { rows: fetched, headers: {} };
  const rows = fetched.slice(0, limit);
  const last = rows.at(-1);
  return last === undefined ? { rows, headers: {} } : { rows, headers: nextPage(url, limit, last.id) };
}

/** The header that names the page after the row `last_id`. */
export function nextPage(url: string, limit: number, last_id: string): Readonly<Record<string, string>> {
  const [target = "", ...query] = url.split("?");
  // A request may name the whole address of the service (RFC 9112, 3.2.2); relative to that, the query is enough.
  const path = target.startsWith("/") ? target : "";
  const parameters = new URLSearchParams(query.join("?"));
  parameters.set("limit", String(limit));
  parameters.set("cursor", encodeCursor(last_id));
  return { link: `<${path}?${parameters.toString()}>; rel="next"` };
}

function encodeCursor(id: string): string {
  return Buffer.from(id).toString("base64url");
}

/** Null for anything `encodeCursor` did not make of an id with this prefix. */
function decodeCursor(cursor: string, prefix: IdPrefix): string | null {
  const id = Buffer.from(cursor, "base64url").toString();
  const isOurs = id.startsWith(`${prefix}_`) && UNIQUE_PART.test(id.slice(prefix.length + 1));
  return isOurs && encodeCursor(id) === cursor ? id : null;
}
