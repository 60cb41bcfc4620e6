/** To the minute, in UTC; `--json` has the full time. */
const MINUTES_LENGTH = "2026-01-31T08:00".length;

/** A time of the store for a table: `2026-01-31T08:00Z`. */
export function shownTime(iso: string): string {
  return `${iso.slice(0, MINUTES_LENGTH)}Z`;
}
