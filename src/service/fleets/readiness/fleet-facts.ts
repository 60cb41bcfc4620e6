import * as z from "zod";

import { type FleetSelectionView, fleetSelectionViewSchema } from "../../../api/fleet-details.ts";
import type { EndpointFacts } from "../../endpoints/index.ts";
import type { Tables } from "../../kernel/store/tables.ts";

/** Everything that a fleet's view is derived from, from one snapshot of the store. */
export interface FleetFacts extends Pick<
  Tables["fleets"],
  "id" | "name" | "readiness_mode" | "peak_active_robots" | "selection" | "created_at"
> {
  readonly windows: readonly Window[];
  /** The active generation. */
  readonly active: GenerationFacts;
  /** The generation that will replace it. */
  readonly update: GenerationFacts | null;
  readonly members: readonly MemberGroup[];
}

/** A generation of a fleet's model, and what is known of its checkpoint. */
export interface GenerationFacts extends Pick<
  Tables["generations"],
  "id" | "subject" | "checkpoint_id" | "created_at" | "activated_at"
> {
  readonly model_slug: string;
  /** JSON text from the row of the checkpoint. */
  readonly requirements: string;
  /** By region, without those withdrawn from the catalog before the generation was created. */
  readonly endpoints: ReadonlyMap<string, EndpointFacts>;
  /** How long endpoints of the model took to become healthy, in seconds, shortest first. */
  readonly preparations: readonly number[];
}

/** Members that are equal in everything that readiness depends on. */
export interface MemberGroup {
  readonly count: number;
  /** Name of one of them, for sentences. */
  readonly example: string;
  readonly region: string;
  /** Whether an operator removed them: they stay members, and run nothing. */
  readonly isRemoved: boolean;
  /** Whether they have computers of their own that send no heartbeats. */
  readonly isOffline: boolean;
  /** State of the robots' current deployments of the active generation's checkpoint. */
  readonly deployment: "active" | "inactive" | "none";
  /** Why the active checkpoint cannot drive them; null if it can. */
  readonly obstacle: string | null;
  /** How they differ from the robots that it was trained on. */
  readonly warnings?: readonly string[];
  /** The same as obstacle for the update's checkpoint; null if there is no update. */
  readonly updateObstacle: string | null;
}

export function robotsIn(groups: readonly MemberGroup[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

/** How the members were selected, from the row of a fleet, with every label: the schema would leave out one called `__proto__`. */
export function parseSelection(text: string): FleetSelectionView {
  const selection: unknown = JSON.parse(text);
  if (!isSelection(selection)) throw new Error(`The store has an invalid selection: ${text}`);
  return selection;
}

function isSelection(value: unknown): value is FleetSelectionView {
  return fleetSelectionViewSchema.safeParse(value).success;
}

/** An operating window of a fleet, in milliseconds since the epoch; its end is outside. */
export interface Window {
  readonly startsMs: number;
  readonly endsMs: number;
}

/** Position of a time: within a window, before the next, or after all of them. */
export type WindowPosition =
  | { readonly state: "within" }
  | { readonly state: "before"; readonly startsMs: number }
  | { readonly state: "after" };

/** @param windows sorted, without overlaps. */
export function positionIn(windows: readonly Window[], nowMs: number): WindowPosition {
  const next = windows.find(({ endsMs }) => nowMs < endsMs);
  if (next === undefined) return { state: "after" };
  return next.startsMs <= nowMs ? { state: "within" } : { state: "before", startsMs: next.startsMs };
}

/** The windows of a request, sorted. @param written without overlaps, each with its offset or in UTC. */
export function windowsOf(
  written: readonly { readonly starts_at: string; readonly ends_at: string }[],
): readonly Window[] {
  return written
    .map(({ starts_at, ends_at }) => ({ startsMs: Date.parse(starts_at), endsMs: Date.parse(ends_at) }))
    .toSorted((left, right) => left.startsMs - right.startsMs);
}

/** The text that the store keeps: start and end of each window in turn. */
export function printWindows(windows: readonly Window[]): string {
  return JSON.stringify(windows.flatMap(({ startsMs, endsMs }) => [startsMs, endsMs]));
}

/** @throws if the text is not from `printWindows`. */
export function parseWindows(text: string): readonly Window[] {
  const boundaries = z.array(z.int()).parse(JSON.parse(text));
  return boundaries.flatMap((startsMs, index) => {
    const endsMs = index % 2 === 0 ? boundaries[index + 1] : undefined;
    return endsMs === undefined ? [] : [{ startsMs, endsMs }];
  });
}
