import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { findObstacles } from "../models/index.ts";
import type { GenerationFacts } from "./readiness/fleet-facts.ts";

/** A robot that a fleet would have, and why a checkpoint cannot drive it; null if it can. */
export interface PreviewedRow extends Pick<
  Tables["robots"],
  "id" | "name" | "robot_type_id" | "region" | "site" | "labels"
> {
  readonly obstacle: string | null;
}

/** @param requirements JSON text from the row of the checkpoint; null to check no robot. */
export async function loadPreviewedRobots(
  reader: Reader,
  organizationId: string,
  robotIds: readonly string[],
  requirements: string | null,
): Promise<ReadonlyMap<string, PreviewedRow>> {
  const rows = await reader
    .selectFrom("robots")
    .select(["id", "id as robot_id", "name", "robot_type_id", "region", "site", "labels", "equipment_sha256"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", robotIds)
    .where("removed_at", "is", null)
    .execute();
  const obstacles = requirements === null ? [] : await findObstacles(reader, rows, requirements);
  return new Map(rows.map((row, index) => [row.id, { ...row, obstacle: obstacles[index] ?? null }]));
}

/** A checkpoint's requirements (JSON text from its row) and its endpoints by region. */
export interface Offer {
  readonly requirements: string;
  readonly endpoints: GenerationFacts["endpoints"];
}

export async function findOffer(reader: Reader, checkpointId: string): Promise<Offer> {
  const { requirements } = await reader
    .selectFrom("checkpoints")
    .select("requirements")
    .where("id", "=", checkpointId)
    .executeTakeFirstOrThrow();
  const endpoints = await reader
    .selectFrom("endpoints")
    .select(["region", "health", "health_since", "last_probed_at", "last_error"])
    .where("checkpoint_id", "=", checkpointId)
    .where("withdrawn_at", "is", null)
    .execute();
  return { requirements, endpoints: new Map(endpoints.map(({ region, ...endpoint }) => [region, endpoint])) };
}
