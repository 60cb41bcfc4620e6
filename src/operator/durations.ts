const UNITS_MS = { s: 1000, m: 60_000, h: 3_600_000 } as const;
/** The longest `--timeout`. */
const LONGEST_MS = 7 * 24 * UNITS_MS.h;

/** Parses `90s`, `10m`, `2h`, or a number of seconds. @returns milliseconds; null for other text. */
export function readDuration(text: string): number | null {
  const [, count, unit = "s"] = /^(\d{1,7})([smh]?)$/.exec(text) ?? [];
  const unitMs = Object.entries(UNITS_MS).find(([name]) => name === (unit === "" ? "s" : unit))?.[1];
  if (count === undefined || unitMs === undefined) return null;
  const durationMs = Number(count) * unitMs;
  return durationMs <= LONGEST_MS ? durationMs : null;
}
