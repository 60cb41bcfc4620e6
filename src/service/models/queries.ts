import { type Reader, readSnapshot } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { CHECKPOINT_ID, SLUG } from "./catalog.ts";
import { parseRequirements, type Requirements } from "./requirements.ts";

/** The checkpoint, and its model, that a fleet or a deployment uses. */
export interface Subject {
  readonly model_slug: string;
  readonly checkpoint_id: string;
}

/**
 * The checkpoint that a subject refers to: by its id, or by the slug of the model whose default it is.
 *
 * @returns undefined if it is not in the catalog or was withdrawn: nothing new may use it.
 */
export async function resolveSubject(reader: Reader, subject: string): Promise<Subject | undefined> {
  const offered = reader
    .selectFrom("models")
    .innerJoin("checkpoints", "checkpoints.model_slug", "models.slug")
    .select(["models.slug as model_slug", "checkpoints.id as checkpoint_id"])
    .where("models.withdrawn_at", "is", null)
    .where("checkpoints.withdrawn_at", "is", null);
  if (CHECKPOINT_ID.test(subject)) return offered.where("checkpoints.id", "=", subject).executeTakeFirst();
  if (!SLUG.test(subject)) return undefined;
  return offered
    .where("models.slug", "=", subject)
    .whereRef("checkpoints.id", "=", "models.default_checkpoint_id")
    .executeTakeFirst();
}

/** A model in the catalog with its checkpoints, oldest first, without withdrawn ones. */
export interface OfferedModel extends Omit<Tables["models"], "withdrawn_at"> {
  readonly checkpoints: readonly OfferedCheckpoint[];
}

export interface OfferedCheckpoint extends Pick<Tables["checkpoints"], "id" | "created_at"> {
  readonly requirements: Requirements;
  /** By region. */
  readonly endpoints: readonly OfferedEndpoint[];
}

export type OfferedEndpoint = Pick<
  Tables["endpoints"],
  "region" | "url" | "health_url" | "health" | "health_since" | "last_probed_at" | "last_error"
>;

/** All models in the catalog, oldest first, or the one with this slug. A concurrently applied catalog is seen whole or not at all. */
export function listModels(reader: Reader, slug: string | null = null): Promise<readonly OfferedModel[]> {
  return readSnapshot(reader, async (snapshot) => {
    const models = await snapshot
      .selectFrom("models")
      .select(["slug", "display_name", "vendor", "model_type", "license_tier", "default_checkpoint_id", "created_at"])
      .where("withdrawn_at", "is", null)
      .$if(slug !== null, (query) => query.where("slug", "=", slug))
      .orderBy("created_at")
      .orderBy("slug")
      .execute();
    if (models.length === 0) return [];
    const slugs = models.map((model) => model.slug);
    // Each model has a checkpoint at least.
    const checkpoints = await snapshot
      .selectFrom("checkpoints")
      .select(["model_slug", "id", "requirements", "created_at"])
      .where("model_slug", "in", slugs)
      .where("withdrawn_at", "is", null)
      .orderBy("created_at")
      .orderBy("id")
      .execute();
    const ids = checkpoints.map(({ id }) => id);
    const endpoints = await snapshot
      .selectFrom("endpoints")
      .select([
        "checkpoint_id",
        "region",
        "url",
        "health_url",
        "health",
        "health_since",
        "last_probed_at",
        "last_error",
      ])
      .where("checkpoint_id", "in", ids)
      .where("withdrawn_at", "is", null)
      .orderBy("region")
      .execute();
    const endpointsOf = Map.groupBy(endpoints, ({ checkpoint_id: checkpointId }) => checkpointId);
    const offered = checkpoints.map(({ model_slug, id, requirements, created_at }) => ({
      model_slug,
      id,
      requirements: parseRequirements(requirements),
      created_at,
      endpoints: endpointsOf.get(id) ?? [],
    }));
    const checkpointsOf = Map.groupBy(offered, ({ model_slug: modelSlug }) => modelSlug);
    return models.map((model) => Object.assign(model, { checkpoints: checkpointsOf.get(model.slug) ?? [] }));
  });
}

/** One model in the catalog. */
export async function findModel(reader: Reader, slug: string): Promise<OfferedModel | undefined> {
  if (!SLUG.test(slug)) return undefined;
  const [model] = await listModels(reader, slug);
  return model;
}

/** The regions with endpoints in the catalog, sorted. */
export async function listRegions(reader: Reader): Promise<readonly string[]> {
  const rows = await reader
    .selectFrom("endpoints")
    .innerJoin("checkpoints", "checkpoints.id", "endpoints.checkpoint_id")
    .select("region")
    .distinct()
    .where("endpoints.withdrawn_at", "is", null)
    .where("checkpoints.withdrawn_at", "is", null)
    .orderBy("region")
    .execute();
  return rows.map(({ region }) => region);
}
