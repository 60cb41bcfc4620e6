import { describe, expect, it } from "vitest";

import type { Column } from "../../../src/console/browser/parts/table/columns.tsx";
import { readSort, sortRows } from "../../../src/console/browser/parts/table/sort.ts";

type Row = string | number | null;

const VALUE: Column<Row> = { id: "value", name: "Value", track: "1fr", cell: String, sortBy: (row) => row };
const PLAIN: Column<Row> = { id: "plain", name: "Plain", track: "1fr", cell: String };

describe("sortRows", () => {
  it.each<[string, readonly Row[]]>([
    // Sorted as text, -10 would come after -2.
    ["numbers by size", [-10, -2, 0, 1.25, 1.5, 9, 10, 100]],
    ["texts in natural order", ["Arm", "r2", "R10", "Zelle"]],
  ])("%s, in both directions", (_what, rows) => {
    const shuffled = [...rows.slice(3), ...rows.slice(0, 3)];
    expect(sortRows(shuffled, { column: VALUE, direction: "up" })).toEqual(rows);
    expect(sortRows(shuffled, { column: VALUE, direction: "down" })).toEqual(rows.toReversed());
  });

  it.each(["up", "down"] as const)("null comes last, sorted %s", (direction) => {
    expect(sortRows([null, 1, null, 1], { column: VALUE, direction })).toEqual([1, 1, null, null]);
  });

  it("keeps the order of equal rows, and of all rows without a sort column", () => {
    const rows = ["b", "a", "B"];
    expect(sortRows(rows, null)).toEqual(rows);
    expect(sortRows(rows, { column: VALUE, direction: "up" })).toEqual(["a", "b", "B"]);
  });
});

it.each([
  ["value", { column: VALUE, direction: "up" }],
  ["-value", { column: VALUE, direction: "down" }],
  ["plain", null],
  ["other", null],
  ["", null],
  [undefined, null],
])("readSort: %j", (text, sort) => {
  expect(readSort(text, [VALUE, PLAIN])).toEqual(sort);
});
