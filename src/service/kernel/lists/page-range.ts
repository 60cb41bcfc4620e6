/**
 * The part of a list that a request wants, by ids: these sort as their rows were made, so a page stays what it is however
 * many rows are added behind it.
 */
export interface PageRange {
  /** Only rows whose id sorts after this one; null from the first. */
  readonly after: string | null;
  /** Rows to fetch at most; null for all. */
  readonly rows: number | null;
}

/** The whole list. */
export const ALL_ROWS: PageRange = { after: null, rows: null };
