/**
 * Times in which a scheduled fleet operates, in milliseconds since the epoch: each window from its start up to, not including,
 * its end, one after the other without overlaps.
 */
export type Boundaries = readonly number[];

/** @param windows in any order, without overlaps, each with its offset or in UTC. @returns the text that the store keeps. */
export function printWindows(windows: readonly { readonly starts_at: string; readonly ends_at: string }[]): string {
  const boundaries = windows.flatMap(({ starts_at, ends_at }) => [Date.parse(starts_at), Date.parse(ends_at)]);
  return JSON.stringify(boundaries.toSorted((left, right) => left - right));
}

/** One window. */
export interface Window {
  readonly starts_ms: number;
  readonly ends_ms: number;
}

/** The boundaries as windows, in their order. */
export function windowsOf(boundaries: Boundaries): readonly Window[] {
  return boundaries.flatMap((starts_ms, index) => {
    const ends_ms = index % 2 === 0 ? boundaries[index + 1] : undefined;
    return ends_ms === undefined ? [] : [{ starts_ms, ends_ms }];
  });
}

export function parseWindows(text: string): Boundaries {
  const boundaries: unknown = JSON.parse(text);
  if (!isBoundaries(boundaries)) throw new Error(`The store has operating windows that are none: ${text}`);
  return boundaries;
}

/** Where `now_ms` is among windows: within one, before the next, or after all of them. */
export type WindowPosition =
  | { readonly state: "within" }
  | { readonly state: "before"; readonly starts_ms: number }
  | { readonly state: "after" };

export function positionIn(boundaries: Boundaries, now_ms: number): WindowPosition {
  const index = boundaries.findIndex((boundary_ms) => now_ms < boundary_ms);
  const next_ms = boundaries[index];
  if (next_ms === undefined) return { state: "after" };
  const isEnd = index % 2 === 1;
  return isEnd ? { state: "within" } : { state: "before", starts_ms: next_ms };
}

function isBoundaries(value: unknown): value is Boundaries {
  return Array.isArray(value) && value.every((boundary) => typeof boundary === "number");
}
