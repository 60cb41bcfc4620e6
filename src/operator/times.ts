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
