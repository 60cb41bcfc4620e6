import type { ComponentChildren } from "preact";

import type { ApiKeyScope } from "../../../../api/wire/scopes.ts";
import { mayDo } from "../../data/session.ts";
import { type Change, ChangeButton } from "../form/change.tsx";

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

/** The changes of each row. */
export interface RowChanges<Row> {
  /** Without this scope there are no buttons. */
  readonly scope: ApiKeyScope;
  /** Of the column, as a grid track. */
  readonly track: string;
  of(row: Row): readonly Change[];
  /** What the row is, for screen readers. */
  aboutOf(row: Row): string;
}

/** A column with a button for each change of a row. */
export function changesColumn<Row>({ scope, track, of, aboutOf }: RowChanges<Row>): readonly Column<Row>[] {
  if (!mayDo(scope)) return [];
  const cell = (row: Row) => (
    <span class="buttons">
      {of(row).map((change) => (
        <ChangeButton key={change.word} change={change} about={aboutOf(row)} />
      ))}
    </span>
  );
  return [{ id: "action", name: "Action", track, cell }];
}

/** Rows without a time come last. */
export function newestFirst<Row extends { readonly created_at?: string | null | undefined }>(rows: readonly Row[]) {
  const timeOf = ({ created_at: at }: Row) => Date.parse(at ?? "") || 0;
  return rows.toSorted((left, right) => timeOf(right) - timeOf(left));
}
