const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** JavaScript has no later dates, and nobody needs them. */
const LONGEST_MS = 100 * 365 * UNITS_MS.d;

export type Moment =
  | { readonly kind: "moment"; readonly iso: string; readonly timeMs: number }
  | { readonly kind: "no-moment"; readonly what: string; readonly fix: string };

/**
 * A moment as people write it: `2030-01-31` (the start of that day, UTC), `2030-01-31T08:00:00Z`, or a distance such as `90d`, `12h`.
 *
 * @param direction in which a distance goes.
 */
export function readMoment(text: string, direction: "ahead" | "back", nowMs: number): Moment {
  const distance = /^(\d{1,6})([mhdw])$/.exec(text);
  const timeMs = distance === null ? readDate(text) : addDistance(distance, direction, nowMs);
  if (timeMs === null || Math.abs(timeMs - nowMs) > LONGEST_MS) {
    const fix = `write it as 2030-01-31, 2030-01-31T08:00:00Z, or 90d, 12h, 30m ${direction === "back" ? "back" : "from now"}`;
    return { kind: "no-moment", what: `'${text}' is no date and no length of time`, fix };
  }
  if (direction === "ahead" && timeMs <= nowMs) {
    return { kind: "no-moment", what: `'${text}' is in the past`, fix: "give a time that is still to come" };
  }
  return { kind: "moment", iso: new Date(timeMs).toISOString(), timeMs };
}

function addDistance([, count, unit]: RegExpExecArray, direction: "ahead" | "back", nowMs: number): number | null {
  const unitMs = Object.entries(UNITS_MS).find(([name]) => name === unit)?.[1];
  if (unitMs === undefined) return null;
  const distanceMs = Number(count) * unitMs;
  return direction === "ahead" ? nowMs + distanceMs : nowMs - distanceMs;
}

/** Date.parse alone takes nearly anything, and February 30 for March 2. */
function readDate(text: string): number | null {
  const form = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text);
  const timeMs = Date.parse(text);
  const day = form?.[1];
  if (day === undefined || Number.isNaN(timeMs)) return null;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? timeMs : null;
}
