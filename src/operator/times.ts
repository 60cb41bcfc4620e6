import { isoTime } from "../platform/clock.ts";
import * as words from "../platform/text/relative-time.ts";
import type { OperatorContext } from "./context.ts";
import { refuseFlags } from "./refuse.ts";

/** The present, and how texts name times. */
export interface Now {
  /** Milliseconds since the Unix epoch. */
  readonly ms: number;
  /** Times in full: what goes to a file or another program is read later. */
  readonly isAbsolute: boolean;
}

export function nowOf({ machine, terminal }: OperatorContext): Now {
  return { ms: machine.clock.wallMs(), isAbsolute: terminal.isPiped };
}

type Text = string | null | undefined;

/** When something happened: `3 min ago`, never in the future, whichever clock is ahead; or `2026-01-31T08:00:00Z`. */
export function timeAgo(iso: Text, now: Now): string {
  return now.isAbsolute ? inFull(iso) : words.pastTime(iso, now.ms);
}

/** When something ends or begins, or did: `in 3 d`, `2 h ago`; or `2026-01-31T08:00:00Z`. */
export function timeUntil(iso: Text, now: Now): string {
  return now.isAbsolute ? inFull(iso) : words.relativeTime(iso, now.ms);
}

function inFull(iso: Text): string {
  const timeMs = Date.parse(iso ?? "");
  return Number.isNaN(timeMs) ? (iso ?? "") : `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}

const ISO_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g;
const DAY_MS = 86_400_000;

/**
 * Adds relative times to a service's text: `since 10:43Z (12 min ago)`, `until 2026-11-25 08:00Z (in 3 d)`, `until 2030-01-31 08:00Z`. Where
 * times are to be in full, they are already.
 */
export function withRelativeTimes(text: string, now: Now): string {
  if (now.isAbsolute) return text;
  return text.replaceAll(ISO_TIME, (iso: string, at: number) => {
    const [date, minute] = [iso.slice(0, 10), minuteText(iso)];
    const relative = text.slice(0, at).endsWith("since ") ? timeAgo(iso, now) : timeUntil(iso, now);
    if (relative === date) return minute;
    const isNear = Math.abs(Date.parse(iso) - now.ms) < DAY_MS;
    return `${isNear ? minute.slice(date.length + 1) : minute} (${relative})`;
  });
}

/** `2030-01-31 08:00Z`. @param iso in UTC. */
export function minuteText(iso: string): string {
  return `${iso.slice(0, 16).replace("T", " ")}Z`;
}

/** For the help of a flag. */
export const SINCE_FORMS = "start: 2026-01-31 (UTC), 2026-01-31T08:00:00Z, or 30d, 12h ago (default: 30d)";

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** 100 years, which keeps dates within the range of JavaScript's Date. */
const LONGEST_MS = 100 * 365 * UNITS_MS.d;

interface GivenTime {
  readonly iso: string;
  readonly timeMs: number;
}

interface Refusal {
  readonly what: string;
  readonly fix: string;
}

/** The time that a flag says; null after reporting that it is none. */
export function readTimeFlag(
  flag: "--expires" | "--since" | "--until" | "--changed-since",
  text: string,
  { machine, terminal }: OperatorContext,
): GivenTime | null {
  const read = readTime(text, flag === "--expires" ? "ahead" : "back", machine.clock.wallMs());
  return "what" in read ? refuseFlags(`${flag} ${read.what}`, read.fix, terminal) : read;
}

/**
 * Parses a point in time: `2030-01-31` (the start of that day, UTC), `2030-01-31T08:00:00Z`, or relative to now: `90d`, `12h`.
 *
 * @param direction of a relative time.
 */
export function readTime(text: string, direction: "ahead" | "back", nowMs: number): GivenTime | Refusal {
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
