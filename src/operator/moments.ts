import { isoTime } from "../platform/clock.ts";
import type { OperatorContext } from "./context.ts";
import { refuseFlags } from "./refuse.ts";

/** For the help of a flag. */
export const SINCE_FORMS = "start: 2026-01-31 (UTC), 2026-01-31T08:00:00Z, or 30d, 12h ago (default: 30d)";

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** 100 years, which keeps dates within the range of JavaScript's Date. */
const LONGEST_MS = 100 * 365 * UNITS_MS.d;

interface Moment {
  readonly iso: string;
  readonly timeMs: number;
}

interface Refusal {
  readonly what: string;
  readonly fix: string;
}

/** The time that a flag says; null after reporting that it is none. */
export function readMomentFlag(
  flag: "--expires" | "--since" | "--until" | "--changed-since",
  text: string,
  { machine, terminal }: OperatorContext,
): Moment | null {
  const read = readMoment(text, flag === "--expires" ? "ahead" : "back", machine.clock.wallMs());
  return "what" in read ? refuseFlags(`${flag} ${read.what}`, read.fix, terminal) : read;
}

/**
 * Parses a point in time: `2030-01-31` (the start of that day, UTC), `2030-01-31T08:00:00Z`, or relative to now: `90d`, `12h`.
 *
 * @param direction of a relative time.
 */
export function readMoment(text: string, direction: "ahead" | "back", nowMs: number): Moment | Refusal {
  const distance = /^(\d{1,6})([mhdw])$/.exec(text);
  const timeMs = distance === null ? readDate(text) : addDistance(distance, direction, nowMs);
  if (timeMs === null) {
    const fix = `write it as 2030-01-31, 2030-01-31T08:00:00Z, or 90d, 12h, 30m ${direction === "back" ? "back" : "from now"}`;
    return { what: `'${text}' is neither a date nor a duration`, fix };
  }
  if (Math.abs(timeMs - nowMs) > LONGEST_MS) {
    return { what: `'${text}' is more than 100 years away`, fix: "give a time nearer to now" };
  }
  if (direction === "ahead" && timeMs <= nowMs) {
    return { what: `'${text}' is in the past`, fix: "give a time in the future" };
  }
  return { iso: isoTime(timeMs), timeMs };
}

function addDistance([, count, unit]: RegExpExecArray, direction: "ahead" | "back", nowMs: number): number | null {
  const unitMs = Object.entries(UNITS_MS).find(([name]) => name === unit)?.[1];
  if (unitMs === undefined) return null;
  const distanceMs = Number(count) * unitMs;
  return direction === "ahead" ? nowMs + distanceMs : nowMs - distanceMs;
}

/** Stricter than Date.parse, which accepts most text and reads February 30 as March 2. */
function readDate(text: string): number | null {
  const form = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text);
  const timeMs = Date.parse(text);
  const day = form?.[1];
  if (day === undefined || Number.isNaN(timeMs)) return null;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? timeMs : null;
}
