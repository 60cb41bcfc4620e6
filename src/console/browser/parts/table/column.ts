import type { ComponentChildren } from "preact";

import type { Width } from "../use-width.ts";

/** One column. The first column names the row and links to its page. */
export interface Column<Row> {
  /** Names the column in the URL when the table is sorted by it. */
  readonly id: string;
  readonly name: string;
  /** A grid track such as "minmax(8rem, 2fr)", never sized by its content: each row is a grid of its own. */
  readonly track: string;
  /** The smallest width that shows it. With "phone" it is on the card too. */
  readonly from?: Width;
  readonly align?: "end";
  /** Full width, below the rest of the card. */
  readonly isWideOnCard?: boolean;
  /** Without its name on the card, such as a status. */
  readonly isPlainOnCard?: boolean;
  cell(row: Row): ComponentChildren;
  /** The sort key; null comes last in both directions. Without it the column is not sortable. */
  sortBy?(row: Row): string | number | null;
  /** The direction of the first click. */
  readonly first?: "down";
}
