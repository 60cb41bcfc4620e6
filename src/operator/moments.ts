const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** JavaScript has no later dates, and nobody needs them. */
const LONGEST_MS = 100 * 365 * UNITS_MS.d;

export type Moment =
  | { readonly kind: "moment"; readonly iso: string; readonly time_ms: number }
  | { readonly kind: "no-moment"; readonly what: string; readonly fix: string };

/**
 * A moment as people write it: `2030-01-31` (the start of that day, UTC), `2030-01-31T08:00:00Z`, or a distance such as `90d`, `12h`.
 *
 * @param direction in which a distance goes.
 */
export function readMoment(text: string, direction: "ahead" | "back", now_ms: number): Moment {
  const distance = /^(\d{1,6})([mhdw])$/.exec(text);
  const time_ms = distance === null ? readDate(text) : addDistance(distance, direction, now_ms);
  if (time_ms === null || Math.abs(time_ms - now_ms) > LONGEST_MS) {
    const fix = `write it as 2030-01-31, 2030-01-31T08:00:00Z, or 90d, 12h, 30m ${direction === "back" ? "back" : "from now"}`;
    return { kind: "no-moment", what: `'${text}' is no date and no length of time`, fix };
  }
  if (direction === "ahead" && time_ms <= now_ms) {
    return { kind: "no-moment", what: `'${text}' is in the past`, fix: "give a time that is still to come" };
  }
  return { kind: "moment", iso: new Date(time_ms).toISOString(), time_ms };
}

function addDistance([, count, unit]: RegExpExecArray, direction: "ahead" | "back", now_ms: number): number | null {
  const unit_ms = Object.entries(UNITS_MS).find(([name]) => name === unit)?.[1];
  if (unit_ms === undefined) return null;
  const distance_ms = Number(count) * unit_ms;
  return direction === "ahead" ? now_ms + distance_ms : now_ms - distance_ms;
}

/** Date.parse alone takes nearly anything, and February 30 for March 2. */
function readDate(text: string): number | null {
  const form = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text);
  const time_ms = Date.parse(text);
  const day = form?.[1];
  if (day === undefined || Number.isNaN(time_ms)) return null;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? time_ms : null;
}
