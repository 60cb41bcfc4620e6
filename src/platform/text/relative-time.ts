const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Times this near are shown as now, because the clocks of two machines differ. */
const NOW_MS = 5 * SECOND_MS;
/** Older times are shown as dates. */
const LONGEST_AGO_MS = 60 * DAY_MS;

/**
 * A time for people, in the same words at a terminal and in the console: `3 min ago`, `in 2 h`, or the date (UTC) when it is far away.
 * What is past is rounded down, what is to come to the nearest unit: a new key for 7 days ends `in 7 d`. A text that is not a time is
 * returned unchanged; null and undefined give an empty text.
 *
 * @param iso ISO 8601, as the service gives it.
 * @param nowMs since the Unix epoch.
 * @param dateOf words a date from milliseconds since the Unix epoch.
 */
export function relativeTime(iso: string | null | undefined, nowMs: number, dateOf = isoDate): string {
  if (iso === null || iso === undefined) return "";
  const timeMs = Date.parse(iso);
  if (Number.isNaN(timeMs)) return iso;
  const distanceMs = Math.abs(timeMs - nowMs);
  if (distanceMs < NOW_MS) return "now";
  if (distanceMs > LONGEST_AGO_MS) return dateOf(timeMs);
  if (timeMs < nowMs) return `${shortDuration(distanceMs)} ago`;
  const [, unitMs] = largestUnit(distanceMs);
  return `in ${shortDuration(Math.round(distanceMs / unitMs) * unitMs)}`;
}

/** The same for what has happened: `now` where the clock that noted it is ahead of ours, or ours was read a while ago. */
export function pastTime(iso: string | null | undefined, nowMs: number, dateOf = isoDate): string {
  return relativeTime(iso, Math.max(nowMs, Date.parse(iso ?? "") || nowMs), dateOf);
}

/** In UTC. */
function isoDate(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, "YYYY-MM-DD".length);
}

/** A duration in its largest unit, rounded down: `40 s`, `3 min`, `2 h`, `5 d`. Hours go up to two days. */
export function shortDuration(durationMs: number): string {
  const [unit, unitMs] = largestUnit(durationMs);
  return `${Math.floor(durationMs / unitMs)} ${unit}`;
}

/** A duration that somebody chose, with what its largest unit leaves: `8 h 30 min`, `1 min 30 s`, `5 d`. */
export function chosenDuration(durationMs: number): string {
  const [, unitMs] = largestUnit(durationMs);
  const restMs = durationMs % unitMs;
  return restMs < SECOND_MS ? shortDuration(durationMs) : `${shortDuration(durationMs)} ${shortDuration(restMs)}`;
}

function largestUnit(durationMs: number): readonly [unit: string, unitMs: number] {
  if (durationMs < MINUTE_MS) return ["s", SECOND_MS];
  if (durationMs < HOUR_MS) return ["min", MINUTE_MS];
  if (durationMs < 2 * DAY_MS) return ["h", HOUR_MS];
  return ["d", DAY_MS];
}
