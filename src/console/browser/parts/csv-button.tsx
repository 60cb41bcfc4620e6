import { csvLines, type Column } from "../../../views/view.ts";
import { Icon } from "./icon.tsx";

interface CsvButtonProps<Row> {
  /** Name of the file, without `.csv`. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
}

/** Saves rows as comma-separated values (RFC 4180), for a spreadsheet. */
export function CsvButton<Row>({ name, columns, rows }: CsvButtonProps<Row>) {
  return (
    <button
      type="button"
      class="button"
      disabled={rows.length === 0}
      onClick={() => download(name, csvLines(columns, rows))}
    >
      <Icon name="down" />
      Download CSV
    </button>
  );
}

/** Lifetime of the object URL, far longer than a download needs. */
const DOWNLOAD_MS = 60_000;

function download(name: string, lines: readonly string[]): void {
  // Spreadsheets recognize UTF-8 by the byte order mark.
  const parts = ["\uFEFF", ...lines.map((line) => `${line}\r\n`)];
  const url = URL.createObjectURL(new Blob(parts, { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), DOWNLOAD_MS);
}
