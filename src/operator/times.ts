const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Clocks of two machines differ; a moment this near is now. */
const NOW_MS = 5 * SECOND_MS;
/** Older moments are dates: nobody counts 431 days. */
const LONGEST_AGO_MS = 60 * DAY_MS;

/**
 * A moment for people: `3 min ago`, `in 2 h`, or the date where it is far off. What is no time comes back as it is; empty for none.
 *
 * @param iso ISO 8601, as the service gives it.
 * @param now_ms since the Unix epoch.
 */
export function relativeTime(iso: string | null | undefined, now_ms: number): string {
  if (iso === null || iso === undefined) return "";
  const time_ms = Date.parse(iso);
  if (Number.isNaN(time_ms)) return iso;
  const distance_ms = Math.abs(time_ms - now_ms);
  if (distance_ms < NOW_MS) return "now";
  if (distance_ms > LONGEST_AGO_MS) return new Date(time_ms).toISOString().slice(0, 10);
  const length = shortDuration(distance_ms);
  return time_ms < now_ms ? `${length} ago` : `in ${length}`;
}

/** A length of time in its largest unit: `40 s`, `3 min`, `2 h`, `5 d`. */
export function shortDuration(duration_ms: number): string {
  if (duration_ms < MINUTE_MS) return `${Math.round(duration_ms / SECOND_MS)} s`;
  if (duration_ms < HOUR_MS) return `${Math.floor(duration_ms / MINUTE_MS)} min`;
  if (duration_ms < 2 * DAY_MS) return `${Math.floor(duration_ms / HOUR_MS)} h`;
  return `${Math.floor(duration_ms / DAY_MS)} d`;
}
