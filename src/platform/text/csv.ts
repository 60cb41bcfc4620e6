/**
 * A line of comma-separated values (RFC 4180), without line end. A text that a spreadsheet would run as a formula is prefixed with an
 * apostrophe, because robots choose the names in the file (OWASP, CSV Injection).
 */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return cells.map((cell) => (typeof cell === "string" ? escapeCell(disarm(cell)) : String(cell ?? ""))).join(",");
}

function disarm(text: string): string {
  return /^\s*[=+\-@\t\r\n|%＝＋－＠]/.test(text) ? `'${text}` : text;
}

/** Also quotes semicolons and apostrophes, which are separators for some spreadsheets. */
function escapeCell(text: string): string {
  return /[",\r\n';]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
