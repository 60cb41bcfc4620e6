/**
 * A line of comma-separated values (RFC 4180), without its end. A text that a spreadsheet would run as a formula gets an apostrophe in
 * front: names come from robots and their keys, and the file is opened by a person (OWASP, CSV Injection).
 */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return cells.map((cell) => (typeof cell === "string" ? escapeCell(disarm(cell)) : String(cell ?? ""))).join(",");
}

function disarm(text: string): string {
  return /^\s*[=+\-@\t\r\n|%＝＋－＠]/.test(text) ? `'${text}` : text;
}

/** Semicolons and apostrophes, too, are what some spreadsheets take a line apart by. */
function escapeCell(text: string): string {
  return /[",\r\n';]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
