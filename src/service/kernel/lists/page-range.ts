/**
 * The part of a list that a request asks for, by ids. Ids sort by creation time, so rows added later do not shift a page.
 */
export interface PageRange {
  /** Only rows whose id sorts after this one; null from the first. */
  readonly after: string | null;
  /** Maximum number of rows; null for all. */
  readonly rows: number | null;
}

/** The whole list. */
export const ALL_ROWS: PageRange = { after: null, rows: null };
