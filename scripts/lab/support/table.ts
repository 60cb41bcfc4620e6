/** Lines of text with aligned columns. @param left how many columns are aligned to the left; the others are aligned to the right. */
export function alignColumns(cells: readonly (readonly string[])[], left: number): readonly string[] {
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  const pad = (cell: string, column: number) =>
    column < left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return cells.map((line) => line.map(pad).join("  ").trimEnd());
}
