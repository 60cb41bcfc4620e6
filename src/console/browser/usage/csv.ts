import { csvLine } from "../../../platform/text/csv.ts";
import type { Usage } from "./data.ts";

/** Of a file that is downloaded; long after the browser has taken it. */
const KEPT_MS = 60_000;

/** Everything the page knows, a line for each day and robot or model (RFC 4180). */
export function usageCsv({ days, by, has_names: hasNames }: Usage): string {
  const head = hasNames ? ["day", by, "seconds", "hours"] : ["day", "seconds", "hours"];
  const lines = days.flatMap(({ day, by_name: byName }) =>
    [...byName]
      .sort(([, left], [, right]) => right - left)
      .map(([name, seconds]) => {
        const what = hasNames ? [day, name] : [day];
        return what.concat(String(seconds), (seconds / 3600).toFixed(4));
      }),
  );
  // Spreadsheets take UTF-8 for it only when it says so.
  return `\uFEFF${[head, ...lines].map((cells) => `${csvLine(cells)}\r\n`).join("")}`;
}

/** Hands a text to the browser as a file. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
