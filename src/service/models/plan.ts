import type { Tables } from "../kernel/store/tables.ts";
import type { Catalog, CatalogEndpoint, CatalogModel } from "./catalog.ts";
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
  const ofModels = compare("model", stored.models, modelRows(stored, models, now), ({ slug }) => [slug], now);
  const checkpoints = models.flatMap(checkpointRows);
  const ofCheckpoints = compare("checkpoint", stored.checkpoints, checkpoints, ({ id }) => [id], now);
  const ids = new Set(checkpoints.map(({ id }) => id));
  const endpointsBefore = stored.endpoints.filter(({ checkpoint_id: checkpointId }) => ids.has(checkpointId));
  const known = new Map(endpointsBefore.map((row) => [endpointKey(row), row]));
  const endpoints = models.flatMap((model) => endpointRows(known, model, now));
  const ofEndpoints = compare("endpoint", endpointsBefore, endpoints, endpointName, now);
  const writtenEndpoints = writtenRows(ofEndpoints);
  const isNew = (row: Tables["endpoints"]) => isFresh(known.get(endpointKey(row)), row);
  return {
    state: "planned",
    changes: [...ofModels, ...ofCheckpoints, ...ofEndpoints].map(withoutRow),
    models: writtenRows(ofModels),
    checkpoints: writtenRows(ofCheckpoints),
    freshEndpoints: writtenEndpoints.filter(isNew),
    keptEndpoints: writtenEndpoints.filter((row) => !isNew(row)),
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

interface Withdrawable {
  readonly withdrawn_at: string | null;
}

/** Compares the rows that the catalog lists with those stored, which are withdrawn if it does not list them. */
function compare<Row extends Withdrawable>(
  kind: CatalogChange["kind"],
  stored: readonly Row[],
  listed: readonly Row[],
  identify: (row: Row) => readonly [name: string, region?: string],
  now: string,
): readonly Comparison<Row>[] {
  // Unambiguous, because slugs and checkpoint ids contain no space.
  const keyOf = (row: Row) => identify(row).join(" ");
  const before = new Map(stored.map((row) => [keyOf(row), row]));
  const keys = new Set(listed.map(keyOf));
  const gone = stored.filter((row) => row.withdrawn_at === null && !keys.has(keyOf(row)));
  const comparison = (change: CatalogChange["change"], row: Row): Comparison<Row> => {
    const [name, region = null] = identify(row);
    return { change, kind, name, region, row };
  };
  return [
    ...listed.map((row) => comparison(changeOf(before.get(keyOf(row)), row), row)),
    ...gone.map((row) => comparison("withdrawn", { ...row, withdrawn_at: now })),
  ];
}

function changeOf<Row extends Withdrawable>(before: Row | undefined, after: Row): CatalogChange["change"] {
  if (before === undefined || before.withdrawn_at !== null) return "added";
  const [old, next] = [before, after].map((row) => JSON.stringify(Object.entries(row).sort()));
  return old === next ? "unchanged" : "changed";
}

function writtenRows<Row>(comparisons: readonly Comparison<Row>[]): readonly Row[] {
  return comparisons.filter(({ change }) => change !== "unchanged").map(({ row }) => row);
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

function modelRows(stored: StoredCatalog, models: readonly CatalogModel[], now: string): readonly Tables["models"][] {
  const createdAt = new Map(stored.models.map((row) => [row.slug, row.created_at]));
  return models.map((model) => {
    const { checkpoints: _, ...facts } = model;
    return { ...facts, created_at: createdAt.get(model.slug) ?? now, withdrawn_at: null };
  });
}

function checkpointRows({ slug, checkpoints }: CatalogModel): readonly Tables["checkpoints"][] {
  return checkpoints.map(({ id, createdAt, requirements }) => ({
    id,
    model_slug: slug,
    requirements: printRequirements(requirements),
    created_at: createdAt,
    withdrawn_at: null,
  }));
}

/** @param known the stored endpoints by key. */
function endpointRows(
  known: ReadonlyMap<string, Tables["endpoints"]>,
  { checkpoints }: CatalogModel,
  now: string,
): readonly Tables["endpoints"][] {
  return checkpoints.flatMap(({ id, endpoints }) =>
    endpoints.map((endpoint) => {
      const before = known.get(endpointKey({ checkpoint_id: id, ...endpoint }));
      if (before === undefined || isFresh(before, endpoint)) return unobserved(id, endpoint, now);
      return { ...before, url: endpoint.url };
    }),
  );
}

/** Whether what is known of an endpoint's health does not hold for it: it is new, back again, or has another health URL. */
function isFresh(known: Tables["endpoints"] | undefined, { health_url: healthUrl }: CatalogEndpoint): boolean {
  return known === undefined || known.withdrawn_at !== null || known.health_url !== healthUrl;
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

type EndpointName = Pick<Tables["endpoints"], "checkpoint_id" | "region">;

function endpointName({ checkpoint_id: checkpointId, region }: EndpointName): readonly [string, string] {
  return [checkpointId, region];
}

function endpointKey(endpoint: EndpointName): string {
  return endpointName(endpoint).join(" ");
}
