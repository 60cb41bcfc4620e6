import { type FleetSelectionView, fleetSelectionViewSchema } from "../../../api/fleet-details.ts";
import type { EndpointFacts } from "../../endpoints/index.ts";
import type { Tables } from "../../kernel/store/tables.ts";

/** Everything that a fleet's view is derived from, from one snapshot of the store. */
export interface FleetFacts extends Pick<
  Tables["fleets"],
  "id" | "name" | "readiness_mode" | "peak_active_robots" | "selection" | "created_at"
> {
  readonly windows: Boundaries;
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
  /** The same for the update's checkpoint; null if there is no update. */
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

/** One member, as a group of one. */
export interface Member extends MemberGroup {
  readonly robot_id: string;
  readonly robot_type_id: string;
  readonly site: string | null;
}

/** Everything that a fleet's details are derived from. */
export interface FleetDetailFacts extends FleetFacts {
  /** Oldest registration first. */
  readonly members: readonly Member[];
  /** Newest first; always includes the active generation. */
  readonly generations: readonly GenerationRow[];
}

export type GenerationRow = Pick<
  Tables["generations"],
  "id" | "subject" | "created_at" | "activated_at" | "superseded_at"
>;

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
