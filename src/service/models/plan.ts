import type { Tables } from "../kernel/store/tables.ts";
import type { Catalog, CatalogCheckpoint, CatalogEndpoint, CatalogModel } from "./catalog.ts";
import { printRequirements } from "./requirements.ts";

/** The catalog rows of the store, including withdrawn ones. */
export interface StoredCatalog {
  readonly models: readonly Tables["models"][];
  readonly checkpoints: readonly Tables["checkpoints"][];
  readonly endpoints: readonly Tables["endpoints"][];
}

/** The change of one entry. A withdrawn entry that is back counts as added. */
export interface CatalogChange {
  readonly change: "added" | "changed" | "unchanged" | "withdrawn";
  readonly kind: "model" | "checkpoint" | "endpoint";
  /** Slug or checkpoint id; of an endpoint, that of its checkpoint. */
  readonly name: string;
  /** Null but for endpoints. */
  readonly region: string | null;
}

/** A checkpoint that the catalog has under one model and the store under another. */
export interface MovedCheckpoint {
  readonly id: string;
  readonly stored_slug: string;
  /** JSON Pointer into the file. */
  readonly loc: string;
}

/** The changes that make the store equal to a catalog. */
export type CatalogPlan =
  | {
      readonly state: "planned";
      readonly changes: readonly CatalogChange[];
      /** Rows to write, whole; a model that is there keeps its created_at. */
      readonly models: readonly Tables["models"][];
      readonly checkpoints: readonly Tables["checkpoints"][];
      /** Endpoints without a probe result: new, back again, or with a new health URL. */
      readonly freshEndpoints: readonly Tables["endpoints"][];
      /** Endpoints that keep their health. */
      readonly keptEndpoints: readonly Pick<Tables["endpoints"], "checkpoint_id" | "region" | "url" | "withdrawn_at">[];
    }
  | { readonly state: "moved"; readonly moved: readonly MovedCheckpoint[] };

/**
 * Compares a catalog with what is stored.
 *
 * A checkpoint's requirements and endpoints may change, its model may not: fleets and deployments refer to checkpoints by id. Rows
 * are never deleted, and a withdrawn checkpoint keeps its endpoints for those that still use it.
 *
 * @param now ISO 8601.
 */
export function planCatalog(stored: StoredCatalog, { models }: Catalog, now: string): CatalogPlan {
  const moved = movedCheckpoints(stored, models);
  if (moved.length > 0) return { state: "moved", moved };
  const ofModels = compareModels(stored.models, models, now);
  const ofCheckpoints = compareCheckpoints(stored.checkpoints, models, now);
  const ofEndpoints = compareEndpoints(stored.endpoints, models, now);
  return {
    state: "planned",
    changes: [...ofModels, ...ofCheckpoints, ...ofEndpoints].map(withoutRow),
    models: ofModels.filter(isWritten).map(({ row }) => row),
    checkpoints: ofCheckpoints.filter(isWritten).map(({ row }) => row),
    freshEndpoints: ofEndpoints.filter((entry) => isWritten(entry) && entry.isFresh).map(({ row }) => row),
    keptEndpoints: ofEndpoints.filter((entry) => isWritten(entry) && !entry.isFresh).map(({ row }) => row),
  };
}

export function countChanges(changes: readonly CatalogChange[]): Readonly<Record<CatalogChange["change"], number>> {
  const counts = { added: 0, changed: 0, withdrawn: 0, unchanged: 0 };
  for (const { change } of changes) counts[change] += 1;
  return counts;
}

/** A change with the new row. */
interface Comparison<Row> extends CatalogChange {
  readonly row: Row;
}

function withoutRow({ change, kind, name, region }: CatalogChange): CatalogChange {
  return { change, kind, name, region };
}

function isWritten({ change }: CatalogChange): boolean {
  return change !== "unchanged";
}

function movedCheckpoints(stored: StoredCatalog, models: readonly CatalogModel[]): readonly MovedCheckpoint[] {
  const slugs = new Map(stored.checkpoints.map(({ id, model_slug: modelSlug }) => [id, modelSlug]));
  return models.flatMap(({ slug, checkpoints }) =>
    checkpoints.flatMap(({ id, loc }) => {
      const storedSlug = slugs.get(id);
      return storedSlug === undefined || storedSlug === slug ? [] : [{ id, stored_slug: storedSlug, loc }];
    }),
  );
}

function compareModels(
  stored: StoredCatalog["models"],
  models: readonly CatalogModel[],
  now: string,
): readonly Comparison<Tables["models"]>[] {
  const before = new Map(stored.map((row) => [row.slug, row]));
  const listed = models.map((model) => {
    const { slug, vendor } = model;
    const known = before.get(slug);
    const facts = {
      display_name: model.display_name,
      vendor,
      model_type: model.model_type,
      license_tier: model.license_tier,
      default_checkpoint_id: model.default_checkpoint_id,
    };
    const row = { slug, ...facts, created_at: known?.created_at ?? now, withdrawn_at: null };
    return { change: changeOf(known, row), kind: "model", name: slug, region: null, row } as const;
  });
  const slugs = new Set(models.map(({ slug }) => slug));
  const gone = stored.filter((row) => row.withdrawn_at === null && !slugs.has(row.slug));
  return [...listed, ...gone.map((row) => withdrawal("model", row.slug, null, { ...row, withdrawn_at: now }))];
}

function compareCheckpoints(
  stored: StoredCatalog["checkpoints"],
  models: readonly CatalogModel[],
  now: string,
): readonly Comparison<Tables["checkpoints"]>[] {
  const before = new Map(stored.map((row) => [row.id, row]));
  const listed = models.flatMap(({ slug, checkpoints }) =>
    checkpoints.map(({ id, createdAt, requirements }) => {
      const row = {
        id,
        model_slug: slug,
        requirements: printRequirements(requirements),
        created_at: createdAt,
        withdrawn_at: null,
      };
      return { change: changeOf(before.get(id), row), kind: "checkpoint", name: id, region: null, row } as const;
    }),
  );
  const ids = new Set(checkpointsOf(models).map(({ id }) => id));
  const gone = stored.filter((row) => row.withdrawn_at === null && !ids.has(row.id));
  return [...listed, ...gone.map((row) => withdrawal("checkpoint", row.id, null, { ...row, withdrawn_at: now }))];
}

interface EndpointComparison extends Comparison<Tables["endpoints"]> {
  readonly isFresh: boolean;
}

function compareEndpoints(
  stored: StoredCatalog["endpoints"],
  models: readonly CatalogModel[],
  now: string,
): readonly EndpointComparison[] {
  const before = new Map(stored.map((row) => [endpointKey(row.checkpoint_id, row.region), row]));
  const listed = checkpointsOf(models).flatMap(({ id, endpoints }) =>
    endpoints.map((endpoint) => compareEndpoint(id, endpoint, before.get(endpointKey(id, endpoint.region)), now)),
  );
  const ids = new Set(checkpointsOf(models).map(({ id }) => id));
  const keys = new Set(listed.map(({ row }) => endpointKey(row.checkpoint_id, row.region)));
  const gone = stored.filter(
    ({ checkpoint_id: checkpointId, region, withdrawn_at: withdrawnAt }) =>
      withdrawnAt === null && ids.has(checkpointId) && !keys.has(endpointKey(checkpointId, region)),
  );
  return [...listed, ...gone.map((row) => goneEndpoint(row, now))];
}

function goneEndpoint(row: Tables["endpoints"], now: string): EndpointComparison {
  const { checkpoint_id: checkpointId, region } = row;
  return { ...withdrawal("endpoint", checkpointId, region, { ...row, withdrawn_at: now }), isFresh: false };
}

function compareEndpoint(
  checkpointId: string,
  { region, url, health_url: healthUrl }: CatalogEndpoint,
  known: Tables["endpoints"] | undefined,
  now: string,
): EndpointComparison {
  const isFresh = known === undefined || known.withdrawn_at !== null || known.health_url !== healthUrl;
  const row = isFresh ? unobserved(checkpointId, { region, url, health_url: healthUrl }, now) : { ...known, url };
  return { change: changeOf(known, row), kind: "endpoint", name: checkpointId, region, row, isFresh };
}

/** The row of an endpoint without a probe result: its first probe is due immediately. */
function unobserved(checkpointId: string, endpoint: CatalogEndpoint, now: string): Tables["endpoints"] {
  return {
    checkpoint_id: checkpointId,
    ...endpoint,
    health: "unknown",
    contrary_probes: 0,
    health_since: null,
    last_probed_at: null,
    last_error: null,
    next_probe_at: now,
    // A probe of the old URL that is in progress loses its claim, so that its result is not recorded for the new URL.
    probe_id: null,
    probe_expires_at: null,
    withdrawn_at: null,
  };
}

function checkpointsOf(models: readonly CatalogModel[]): readonly CatalogCheckpoint[] {
  return models.flatMap(({ checkpoints }) => checkpoints);
}

/** Unambiguous, because checkpoint ids contain no space. */
function endpointKey(checkpointId: string, region: string): string {
  return `${checkpointId} ${region}`;
}

interface Withdrawable {
  readonly withdrawn_at: string | null;
}

function changeOf<Row extends Withdrawable>(before: Row | undefined, after: Row): CatalogChange["change"] {
  if (before === undefined || before.withdrawn_at !== null) return "added";
  const [old, next] = [before, after].map((row) => JSON.stringify(Object.entries(row).sort()));
  return old === next ? "unchanged" : "changed";
}

function withdrawal<Row>(kind: CatalogChange["kind"], name: string, region: string | null, row: Row): Comparison<Row> {
  return { change: "withdrawn", kind, name, region, row };
}
