import type { ComponentChildren } from "preact";

import { EndingButton } from "../form/ending-button.tsx";

/** One column. The first column names the row and links to its page. */
export interface Column<Row> {
  /** Names the column in the URL when the table is sorted by it. */
  readonly id: string;
  readonly name: string;
  /** A grid track such as "minmax(8rem, 2fr)", never sized by its content: each row is a grid of its own. */
  readonly track: string;
  /** The smallest width that shows it; by default all. */
  readonly from?: "medium" | "wide";
  cell(row: Row): ComponentChildren;
  /** The sort key; null comes last in both directions. Without it the column is not sortable. */
  sortBy?(row: Row): string | number | null;
  /** The direction of the first click. */
  readonly first?: "down";
}

/**
 * A column with a button in each row.
 *
 * @param subjectOf what the button is about, for screen readers; null for a row without one.
 */
export function actionColumn<Row>(
  word: string,
  subjectOf: (row: Row) => string | null,
  run: (row: Row) => void,
  { track = "6.75rem", isBusy = false } = {},
): Column<Row> {
  const cell = (row: Row) => {
    const subject = subjectOf(row);
    return subject === null ? null : (
      <EndingButton label={`${word} ${subject}`.trim()} isBusy={isBusy} press={() => run(row)}>
        {word}
      </EndingButton>
    );
  };
  return { id: "action", name: "Action", track, cell };
}

/** Those without a time last. */
export function newestFirst<Row extends { readonly created_at?: string | null | undefined }>(rows: readonly Row[]) {
  const timeOf = ({ created_at: at }: Row) => Date.parse(at ?? "") || 0;
  return rows.toSorted((left, right) => timeOf(right) - timeOf(left));
}
