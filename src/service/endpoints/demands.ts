import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/** Why the endpoints of a checkpoint should be healthy. */
export type Demand =
  /** It is deployed to a robot. */
  | { readonly kind: "deployment"; readonly checkpointId: string }
  /** Fleets use it, or wait for it to be ready for the first time. */
  | {
      readonly kind: "fleets";
      readonly checkpointId: string;
      readonly modelSlug: string;
      readonly readinessMode: Tables["fleets"]["readiness_mode"];
      readonly isAwaited: boolean;
      /** Start of the first operating window that is not over; null without one. */
      readonly opensMs: number | null;
    };

/** The demands for these checkpoints. Equal demands of several fleets or robots are one. */
export async function loadDemands(
  reader: Reader,
  checkpointIds: readonly string[],
  nowMs: number,
): Promise<readonly Demand[]> {
  if (checkpointIds.length === 0) return [];
  const deployed = await reader
    .selectFrom("deployments")
    .select("checkpoint_id")
    .distinct()
    .where("checkpoint_id", "in", checkpointIds)
    .where("retired_at", "is", null)
    .execute();
  const fleets = reader
    .selectFrom("generations")
    .innerJoin("fleets", "fleets.id", "generations.fleet_id")
    .innerJoin("checkpoints", "checkpoints.id", "generations.checkpoint_id")
    .select(["checkpoint_id", "checkpoints.model_slug", "readiness_mode"])
    .select(({ case: when, selectFrom }) => [
      when().when("activated_at", "is", null).then(1).else(0).end().as("awaited"),
      selectFrom("fleet_windows")
        .select("starts_ms")
        .whereRef("fleet_id", "=", "fleets.id")
        .where("ends_ms", ">", nowMs)
        .orderBy("ends_ms")
        .limit(1)
        .as("opens_ms"),
    ])
    .where("checkpoint_id", "in", checkpointIds)
    .where("superseded_at", "is", null);
  const alike = await reader
    .selectFrom(fleets.as("fleets"))
    .select(["checkpoint_id", "model_slug", "readiness_mode", "awaited"])
    .select(({ fn }) => fn.min<number | null>("opens_ms").as("opens_ms"))
    .groupBy(["checkpoint_id", "model_slug", "readiness_mode", "awaited"])
    .execute();
  return [
    ...deployed.map(({ checkpoint_id: checkpointId }) => ({ kind: "deployment" as const, checkpointId })),
    ...alike.map(
      ({
        checkpoint_id: checkpointId,
        model_slug: modelSlug,
        readiness_mode: readinessMode,
        awaited,
        opens_ms: opensMs,
      }) => ({
        kind: "fleets" as const,
        checkpointId,
        modelSlug,
        readinessMode,
        isAwaited: awaited === 1,
        opensMs,
      }),
    ),
  ];
}
