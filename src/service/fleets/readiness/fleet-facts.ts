import type { EndpointFacts } from "../../endpoints/index.ts";
import type { Tables } from "../../kernel/store/tables.ts";
import type { Boundaries } from "./windows.ts";

/** Everything a fleet's view is derived from, as the store had it at one time. */
export interface FleetFacts extends Pick<
  Tables["fleets"],
  "id" | "name" | "readiness_mode" | "peak_active_robots" | "selection" | "created_at"
> {
  readonly windows: Boundaries;
  /** What the fleet works with. */
  readonly active: GenerationFacts;
  /** What is to replace it. */
  readonly update: GenerationFacts | null;
  readonly members: readonly MemberGroup[];
}

/** A generation of a fleet's model, and what is known of its checkpoint. */
export interface GenerationFacts extends Pick<
  Tables["generations"],
  "id" | "subject" | "checkpoint_id" | "created_at" | "activated_at"
> {
  readonly model_slug: string;
  /** As the row of the checkpoint has them. */
  readonly requirements: string;
  /** By region. Not those that had left the catalog before the generation began. */
  readonly endpoints: ReadonlyMap<string, EndpointFacts>;
  /** How long endpoints of the model took to become healthy, in seconds, shortest first. */
  readonly preparations: readonly number[];
}

/** Members that are alike in everything readiness depends on. */
export interface MemberGroup {
  readonly count: number;
  /** Name of one of them, for sentences. */
  readonly example: string;
  readonly region: string;
  /** The robots' own current deployments, where these are of the active generation's checkpoint. */
  readonly deployment: "active" | "inactive" | "none";
  /** Why the active checkpoint cannot drive them; null when it can. */
  readonly obstacle: string | null;
  /** The same of the update's checkpoint; null when there is no update. */
  readonly update_obstacle: string | null;
}

/** One member by itself: a group of one. */
export interface Member extends MemberGroup {
  readonly robot_id: string;
  readonly robot_type_id: string;
  readonly site: string | null;
}

/** What a fleet's details are derived from. */
export interface FleetDetailFacts extends FleetFacts {
  /** Oldest registration first. */
  readonly members: readonly Member[];
  /** Newest first; what the fleet works with is always among them. */
  readonly generations: readonly GenerationRow[];
}

export type GenerationRow = Pick<
  Tables["generations"],
  "id" | "subject" | "created_at" | "activated_at" | "superseded_at"
>;
