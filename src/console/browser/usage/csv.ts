import { csvLine } from "../../../platform/text/csv.ts";
import type { Usage } from "./data.ts";

/** Lifetime of the object URL, far longer than a download needs. */
const KEPT_MS = 60_000;

/** The usage as CSV (RFC 4180), a line for each day and robot or model. */
export function usageCsv({ days, by, hasNames }: Usage): string {
  const head = hasNames ? ["day", by, "seconds", "hours"] : ["day", "seconds", "hours"];
  const lines = days.flatMap(({ day, byName }) =>
    [...byName]
      .sort(([, left], [, right]) => right - left)
      .map(([name, seconds]) => {
        const what = hasNames ? [day, name] : [day];
        return what.concat(String(seconds), (seconds / 3600).toFixed(4));
      }),
  );
  // Spreadsheets recognize UTF-8 by the byte order mark.
  return `\uFEFF${[head, ...lines].map((cells) => `${csvLine(cells)}\r\n`).join("")}`;
}

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
