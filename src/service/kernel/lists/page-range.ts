import { type SelectQueryBuilder, sql, type StringReference } from "kysely";

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
