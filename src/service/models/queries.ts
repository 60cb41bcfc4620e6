import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { isCheckpointId, isSlug } from "./names.ts";
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
  if (isCheckpointId(subject)) return offered.where("checkpoints.id", "=", subject).executeTakeFirst();
  if (!isSlug(subject)) return undefined;
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

/** All models in the catalog, oldest first. */
export function listModels(reader: Reader): Promise<readonly OfferedModel[]> {
  return readModels(reader, null);
}

/** One model in the catalog. */
export async function findModel(reader: Reader, slug: string): Promise<OfferedModel | undefined> {
  if (!isSlug(slug)) return undefined;
  const [model] = await readModels(reader, slug);
  return model;
}

/** One statement, so that a concurrently applied catalog is seen completely or not at all. */
async function readModels(reader: Reader, slug: string | null): Promise<readonly OfferedModel[]> {
  let query = reader
    .selectFrom("models")
    .innerJoin("checkpoints", "checkpoints.model_slug", "models.slug")
    .leftJoin("endpoints", (join) =>
      join.onRef("endpoints.checkpoint_id", "=", "checkpoints.id").on("endpoints.withdrawn_at", "is", null),
    )
    .select(["slug", "display_name", "vendor", "model_type", "license_tier", "default_checkpoint_id"])
    .select(["models.created_at", "checkpoints.id", "requirements", "checkpoints.created_at as checkpoint_created_at"])
    .select(["region", "url", "health_url", "health", "health_since", "last_probed_at", "last_error"])
    .where("models.withdrawn_at", "is", null)
    .where("checkpoints.withdrawn_at", "is", null);
  if (slug !== null) query = query.where("slug", "=", slug);
  const rows = await query
    .orderBy("models.created_at")
    .orderBy("slug")
    .orderBy("checkpoint_created_at")
    .orderBy("checkpoints.id")
    .orderBy("region")
    .execute();
  return groupBy(rows, (row) => row.slug).map(([model, ofModel]) => ({
    slug: model.slug,
    display_name: model.display_name,
    vendor: model.vendor,
    model_type: model.model_type,
    license_tier: model.license_tier,
    default_checkpoint_id: model.default_checkpoint_id,
    created_at: model.created_at,
    checkpoints: groupBy(ofModel, (row) => row.id).map(([checkpoint, ofCheckpoint]) => ({
      id: checkpoint.id,
      requirements: parseRequirements(checkpoint.requirements),
      created_at: checkpoint.checkpoint_created_at,
      endpoints: ofCheckpoint.flatMap(offeredEndpoint),
    })),
  }));
}

/** A checkpoint without endpoints is one row with nulls for the endpoint. */
function offeredEndpoint(row: Nullable<OfferedEndpoint>): readonly OfferedEndpoint[] {
  const { region, url, health_url: healthUrl, health } = row;
  if (region === null || url === null || healthUrl === null || health === null) return [];
  return [
    {
      region,
      url,
      health_url: healthUrl,
      health,
      health_since: row.health_since,
      last_probed_at: row.last_probed_at,
      last_error: row.last_error,
    },
  ];
}

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

/** Groups in the order of their first rows; each is its first row and all of its rows. */
function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): readonly (readonly [Row, readonly Row[]])[] {
  const groups = new Map<string, [Row, Row[]]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row, [row]]);
    else group[1].push(row);
  }
  return [...groups.values()];
}
