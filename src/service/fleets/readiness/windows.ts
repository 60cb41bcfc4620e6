/**
 * The operating windows of a fleet in milliseconds since the epoch: start and end (exclusive) of each window in turn, sorted, without
 * overlaps.
 */
export type Boundaries = readonly number[];

/** @param windows in any order, without overlaps, each with its offset or in UTC. @returns the text that the store keeps. */
export function printWindows(windows: readonly { readonly starts_at: string; readonly ends_at: string }[]): string {
  const boundaries = windows.flatMap(({ starts_at, ends_at }) => [Date.parse(starts_at), Date.parse(ends_at)]);
  return JSON.stringify(boundaries.toSorted((left, right) => left - right));
}

/** One window. */
export interface Window {
  readonly startsMs: number;
  readonly endsMs: number;
}

/** The boundaries as windows, sorted. */
export function windowsOf(boundaries: Boundaries): readonly Window[] {
  return boundaries.flatMap((startsMs, index) => {
    const endsMs = index % 2 === 0 ? boundaries[index + 1] : undefined;
    return endsMs === undefined ? [] : [{ startsMs, endsMs }];
  });
}

export function parseWindows(text: string): Boundaries {
  const boundaries: unknown = JSON.parse(text);
  if (!isBoundaries(boundaries)) throw new Error(`The store has invalid operating windows: ${text}`);
  return boundaries;
}

/** Position of a time: within a window, before the next, or after all of them. */
export type WindowPosition =
  | { readonly state: "within" }
  | { readonly state: "before"; readonly startsMs: number }
  | { readonly state: "after" };

export function positionIn(boundaries: Boundaries, nowMs: number): WindowPosition {
  const index = boundaries.findIndex((boundaryMs) => nowMs < boundaryMs);
  const nextMs = boundaries[index];
  if (nextMs === undefined) return { state: "after" };
  const isEnd = index % 2 === 1;
  return isEnd ? { state: "within" } : { state: "before", startsMs: nextMs };
}

function isBoundaries(value: unknown): value is Boundaries {
  return Array.isArray(value) && value.every((boundary) => typeof boundary === "number");
}
