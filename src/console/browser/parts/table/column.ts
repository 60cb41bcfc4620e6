import type { ComponentChildren } from "preact";

import type { Width } from "../use-width.ts";

/** One column. The first of a table names the row, and links to its page. */
export interface Column<Row> {
  /** In the address, when the table is sorted by it. */
  readonly id: string;
  readonly name: string;
  /** A track of a grid: "minmax(8rem, 2fr)". Never one that depends on what is in it. */
  readonly track: string;
  /** The least room there must be for it; on a phone, whether it is on the card. */
  readonly from?: Width;
  readonly align?: "end";
  /** Below the rest of the card, and as wide. */
  readonly isWideOnCard?: boolean;
  /** What needs no name on the card: a state. */
  readonly isPlainOnCard?: boolean;
  cell(row: Row): ComponentChildren;
  /** What to sort by; null comes last either way. Without it the column does not sort. */
  sortBy?(row: Row): string | number | null;
  /** Times and numbers are looked at from the largest. */
  readonly first?: "down";
}
