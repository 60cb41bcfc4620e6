import { type SelectQueryBuilder, sql, type StringReference } from "kysely";

import type { PageQuery } from "../../../api/wire/pages.ts";
import { type Answer, refuseInvalid } from "../http/answers.ts";
import type { IdPrefix } from "../ids.ts";
import { ruleBroken } from "../validation/finding.ts";

/**
 * The part of a list that a request asks for, by ids. Ids sort by creation time, so rows added later do not shift a page.
 */
export interface PageRange {
  /** Only rows whose id sorts after this one; null from the first. */
  readonly after: string | null;
  /** Maximum number of rows. */
  readonly rows: number;
}

/** The whole list. */
export const ALL_ROWS: PageRange = { after: null, rows: Number.MAX_SAFE_INTEGER };

/** Restricts a query to a part of a list and orders it by the column `id`: oldest first, or newest first. */
export function inRange<Schema, Source extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Source, Row>,
  id: StringReference<Schema, Source>,
  { after, rows }: PageRange,
  order: "oldest" | "newest" = "oldest",
): SelectQueryBuilder<Schema, Source, Row> {
  const column = sql.ref<string>(id);
  const ordered = query.orderBy(column, order === "oldest" ? "asc" : "desc");
  const following = after === null ? ordered : ordered.where(column, order === "oldest" ? ">" : "<", after);
  return following.limit(rows);
}

/** `refused` has the 422 answer to a cursor that this list never returned. */
export type ReadPage =
  /** `after`: the id before the page; null for the first page. */
  { readonly state: "read"; readonly after: string | null } | { readonly state: "refused"; readonly answer: Answer };

/** What follows the prefix of an id (ids.ts). */
const UNIQUE_PART = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/**
 * Reads where a page begins.
 *
 * @param prefix of the ids in this list; a cursor of another list is refused.
 */
export function readPage({ cursor }: PageQuery, prefix: IdPrefix): ReadPage {
  if (cursor === undefined) return { state: "read", after: null };
  const after = decodeCursor(cursor, prefix);
  if (after !== null) return { state: "read", after };
  const fault = ruleBroken("the cursor is not one this list gave out");
  return { state: "refused", answer: refuseInvalid([{ ...fault, loc: ["query", "cursor"], input: cursor }]) };
}

/**
 * The `Link` header for the page after the row `lastId` (RFC 8288).
 *
 * @param url path and query of the request; its other query parameters are in the link as well.
 */
export function nextPage(url: string, limit: number, lastId: string): Readonly<Record<string, string>> {
  const [target = "", ...query] = url.split("?");
  // A request may name the whole address of the service (RFC 9112, 3.2.2); relative to that, the query is enough.
  const path = target.startsWith("/") ? target : "";
  const parameters = new URLSearchParams(query.join("?"));
  parameters.set("limit", String(limit));
  parameters.set("cursor", encodeCursor(lastId));
  return { link: `<${path}?${parameters.toString()}>; rel="next"` };
}

function encodeCursor(id: string): string {
  return Buffer.from(id).toString("base64url");
}

/** The inverse of `encodeCursor`; null unless it is an id with this prefix. */
function decodeCursor(cursor: string, prefix: IdPrefix): string | null {
  const id = Buffer.from(cursor, "base64url").toString();
  const isOurs = id.startsWith(`${prefix}_`) && UNIQUE_PART.test(id.slice(prefix.length + 1));
  return isOurs && encodeCursor(id) === cursor ? id : null;
}
