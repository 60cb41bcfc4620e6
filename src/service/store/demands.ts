import type { Reader } from "./store.ts";
import type { Tables } from "./tables.ts";

/** Why somebody wants a checkpoint's endpoints to answer. */
export type Demand =
  /** A robot has it deployed. */
  | { readonly kind: "deployment"; readonly checkpoint_id: string }
  /** A fleet works with it, or waits for it to be ready for the first time. */
  | {
      readonly kind: "fleet";
      readonly checkpoint_id: string;
      readonly model_slug: string;
      readonly readiness_mode: Tables["fleets"]["readiness_mode"];
      readonly operating_windows: string;
      readonly is_awaited: boolean;
    };

/** Every demand there is for these checkpoints; equal ones of several fleets or robots come once. */
export async function loadDemands(reader: Reader, checkpoint_ids: readonly string[]): Promise<readonly Demand[]> {
  if (checkpoint_ids.length === 0) return [];
  const deployed = await reader
    .selectFrom("deployments")
    .select("checkpoint_id")
    .distinct()
    .where("checkpoint_id", "in", checkpoint_ids)
    .where("retired_at", "is", null)
    .execute();
  const fleets = await reader
    .selectFrom("generations")
    .innerJoin("fleets", "fleets.id", "generations.fleet_id")
    .innerJoin("checkpoints", "checkpoints.id", "generations.checkpoint_id")
    .select(["checkpoint_id", "checkpoints.model_slug", "readiness_mode", "operating_windows"])
    .select(({ case: when }) => when().when("activated_at", "is", null).then(1).else(0).end().as("awaited"))
    .distinct()
    .where("checkpoint_id", "in", checkpoint_ids)
    .where("superseded_at", "is", null)
    .execute();
  return [
    ...deployed.map(({ checkpoint_id }) => ({ kind: "deployment" as const, checkpoint_id })),
    ...fleets.map(({ checkpoint_id, model_slug, readiness_mode, operating_windows, awaited }) => ({
      kind: "fleet" as const,
      checkpoint_id,
      model_slug,
      readiness_mode,
      operating_windows,
      is_awaited: awaited === 1,
    })),
  ];
}
