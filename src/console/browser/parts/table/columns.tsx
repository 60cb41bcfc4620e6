import type { ComponentChildren } from "preact";

import { EndingButton } from "../form/ending-button.tsx";
import { None } from "../none.tsx";
import { RelativeTime } from "../relative-time.tsx";
import { StatusBadge } from "../status-badge.tsx";
import { momentOf, number } from "../text.ts";
import type { Width } from "../use-width.ts";

/** One column. The first column names the row and links to its page. */
export interface Column<Row> {
  /** Names the column in the URL when the table is sorted by it. */
  readonly id: string;
  readonly name: string;
  /** A grid track such as "minmax(8rem, 2fr)", never sized by its content: each row is a grid of its own. */
  readonly track: string;
  /** The smallest width that shows it. */
  readonly from?: Width;
  readonly align?: "end";
  cell(row: Row): ComponentChildren;
  /** The sort key; null comes last in both directions. Without it the column is not sortable. */
  sortBy?(row: Row): string | number | null;
  /** The direction of the first click. */
  readonly first?: "down";
}

/** What distinguishes a column from others of its kind. */
type Own<Row> = Omit<Column<Row>, "cell" | "sortBy"> & Partial<Pick<Column<Row>, "cell">>;

type Text = string | null | undefined;

export function textColumn<Row>(own: Own<Row>, textOf: (row: Row) => Text): Column<Row> {
  return { cell: (row) => textOf(row) || <None />, sortBy: (row) => textOf(row) || null, ...own };
}

export function timeColumn<Row>(own: Own<Row>, timeOf: (row: Row) => Text): Column<Row> {
  const cell = (row: Row) => <RelativeTime at={timeOf(row)} />;
  return { cell, sortBy: (row) => momentOf(timeOf(row)), first: "down", ...own };
}

export function countColumn<Row>(own: Own<Row>, countOf: (row: Row) => number): Column<Row> {
  return { cell: (row) => number(countOf(row)), sortBy: countOf, first: "down", align: "end", ...own };
}

/** A column of a kind that has its own id and name. */
type Named<Row> = Pick<Column<Row>, "track"> & Partial<Column<Row>>;

export function badgeColumn<Row>(own: Named<Row>, stateOf: (row: Row) => string): Column<Row> {
  const cell = (row: Row) => <StatusBadge status={stateOf(row)} />;
  return { id: "state", name: "State", cell, sortBy: stateOf, ...own };
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

export function newestFirst<Row extends { readonly created_at?: Text }>(rows: readonly Row[]): readonly Row[] {
  return [...rows].sort((left, right) => (momentOf(right.created_at) ?? 0) - (momentOf(left.created_at) ?? 0));
}
