import * as words from "../platform/text/relative-time.ts";
import type { OperatorContext } from "./context.ts";

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

const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g;
const DAY_MS = 86_400_000;

/**
 * Adds relative times to a service's text: `since 10:43Z (12 min ago)`, `until 2026-11-25 08:00Z (in 3 d)`, `until 2030-01-31 08:00Z`. Where
 * times are to be in full, they are already.
 */
export function withRelativeTimes(text: string, now: Now): string {
  if (now.isAbsolute) return text;
  return text.replaceAll(MOMENT, (iso: string, at: number) => {
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
