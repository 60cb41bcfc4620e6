import type { Finding } from "../../documents/findings.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { CatalogFile, CatalogModel } from "./catalog.ts";
import { printRequirements, type Training } from "./requirements.ts";

/** The catalog rows of the store, including withdrawn ones. */
export interface StoredCatalog {
  readonly models: readonly Tables["models"][];
  readonly checkpoints: readonly Tables["checkpoints"][];
  readonly endpoints: readonly Tables["endpoints"][];
}

/** The change of one entry. A withdrawn entry that is back counts as added. */
export interface CatalogChange {
  readonly change: "added" | "changed" | "withdrawn";
  readonly kind: "model" | "checkpoint" | "endpoint";
  /** Slug or checkpoint id; of an endpoint, that of its checkpoint. */
  readonly name: string;
  /** Null but for endpoints. */
  readonly region: string | null;
}

/** What applying a catalog does. `refused`: nothing. */
export type CatalogPlan =
  | {
      readonly state: "planned";
      /** Of what stays as it is, there is none. */
      readonly changes: readonly CatalogChange[];
      /** Rows to write, whole. */
      readonly models: readonly Tables["models"][];
      readonly checkpoints: readonly Tables["checkpoints"][];
      readonly endpoints: readonly Tables["endpoints"][];
    }
  | { readonly state: "refused"; readonly findings: readonly Finding[] };

/**
 * Compares a catalog with what is stored.
 *
 * A checkpoint's requirements and endpoints may change, its model may not: fleets and deployments refer to checkpoints by id. Rows
 * are never deleted, and a withdrawn checkpoint keeps its endpoints for those that still use it.
 *
 * @param now ISO 8601.
 * @param trainings what checkpoints were trained on, by their ids.
 */
export function planCatalog(
  stored: StoredCatalog,
  file: Pick<CatalogFile, "catalog" | "locate">,
  now: string,
  trainings: ReadonlyMap<string, Training> = new Map(),
): CatalogPlan {
  const findings = movedCheckpoints(stored, file);
  if (findings.length > 0) return { state: "refused", findings };
  const { models } = file.catalog;
  const ofModels = compare("model", stored.models, modelRows(stored, models, now), ({ slug }) => [slug], now);
  const checkpoints = models.flatMap((model) => checkpointRows(model, trainings));
  const ofCheckpoints = compare("checkpoint", stored.checkpoints, checkpoints, ({ id }) => [id], now);
  const ids = new Set(checkpoints.map(({ id }) => id));
  const known = stored.endpoints.filter(({ checkpoint_id: checkpointId }) => ids.has(checkpointId));
  const byName = new Map(known.map((row) => [endpointName(row).join(" "), row]));
  const endpoints = models.flatMap((model) => endpointRows(byName, model, now));
  const ofEndpoints = compare("endpoint", known, endpoints, endpointName, now);
  return {
    state: "planned",
    changes: [...ofModels.changes, ...ofCheckpoints.changes, ...ofEndpoints.changes],
    models: ofModels.rows,
    checkpoints: ofCheckpoints.rows,
    endpoints: ofEndpoints.rows,
  };
}

function movedCheckpoints(
  stored: StoredCatalog,
  { catalog, locate }: Pick<CatalogFile, "catalog" | "locate">,
): readonly Finding[] {
  const slugs = new Map(stored.checkpoints.map(({ id, model_slug: modelSlug }) => [id, modelSlug]));
  return catalog.models.flatMap(({ slug, checkpoints }, model) =>
    checkpoints.flatMap(({ id }, checkpoint) => {
      const storedSlug = slugs.get(id) ?? slug;
      if (storedSlug === slug) return [];
      const loc = `/models/${model}/checkpoints/${checkpoint}/id`;
      const message = `${id} belongs to the model ${storedSlug} and stays with it; give this checkpoint an id of its own`;
      return [{ id: "checkpoint_moved", severity: "error" as const, loc, message, ...locate(loc) }];
    }),
  );
}

export function countChanges(changes: readonly CatalogChange[]): Readonly<Record<CatalogChange["change"], number>> {
  const counts = { added: 0, changed: 0, withdrawn: 0 };
  for (const { change } of changes) counts[change] += 1;
  return counts;
}

interface Withdrawable {
  readonly withdrawn_at: string | null;
}

/** Compares the rows that the catalog lists with those stored, which are withdrawn if it does not list them. @returns `rows` to write. */
function compare<Row extends Withdrawable>(
  kind: CatalogChange["kind"],
  stored: readonly Row[],
  listed: readonly Row[],
  identify: (row: Row) => readonly [name: string, region?: string],
  now: string,
): { readonly changes: readonly CatalogChange[]; readonly rows: readonly Row[] } {
  // Unambiguous, because slugs and checkpoint ids contain no space.
  const keyOf = (row: Row) => identify(row).join(" ");
  const before = new Map(stored.map((row) => [keyOf(row), row]));
  const keys = new Set(listed.map(keyOf));
  const gone = stored.filter((row) => row.withdrawn_at === null && !keys.has(keyOf(row)));
  const compared: readonly Changed<Row>[] = [
    ...listed.flatMap((row) => changeOf(before.get(keyOf(row)), row)),
    ...gone.map((row) => ({ change: "withdrawn" as const, row: { ...row, withdrawn_at: now } })),
  ];
  return {
    changes: compared.map(({ change, row }) => {
      const [name, region = null] = identify(row);
      return { change, kind, name, region };
    }),
    rows: compared.map(({ row }) => row),
  };
}

interface Changed<Row> {
  readonly change: CatalogChange["change"];
  readonly row: Row;
}

/** Empty for a row that is as the stored one. */
function changeOf<Row extends Withdrawable>(before: Row | undefined, row: Row): readonly Changed<Row>[] {
  if (before === undefined || before.withdrawn_at !== null) return [{ change: "added", row }];
  const [old, next] = [before, row].map((each) => JSON.stringify(Object.entries(each).sort()));
  return old === next ? [] : [{ change: "changed", row }];
}

function modelRows(stored: StoredCatalog, models: readonly CatalogModel[], now: string): readonly Tables["models"][] {
  const createdAt = new Map(stored.models.map((row) => [row.slug, row.created_at]));
  return models.map((model) => {
    const { checkpoints: _, ...facts } = model;
    return { ...facts, created_at: createdAt.get(model.slug) ?? now, withdrawn_at: null };
  });
}

function checkpointRows(
  { slug, checkpoints }: CatalogModel,
  trainings: ReadonlyMap<string, Training>,
): readonly Tables["checkpoints"][] {
  return checkpoints.map(({ id, created_at, requirements }) => ({
    id,
    model_slug: slug,
    requirements: printRequirements({ ...requirements, trained_on: trainings.get(id) }),
    created_at,
    withdrawn_at: null,
  }));
}

/** What a probe depends on. */
const PROBED = ["health_url", "model_member", "model_value"] as const;

/** @param known by checkpoint and region. An endpoint that is new, back again, or probed in another way has no probe result yet; others keep theirs. */
function endpointRows(
  known: ReadonlyMap<string, Tables["endpoints"]>,
  { checkpoints }: CatalogModel,
  now: string,
): readonly Tables["endpoints"][] {
  return checkpoints.flatMap(({ id, endpoints }) =>
    endpoints.map(({ model_member: member = null, model_value: value = id, ...written }) => {
      const endpoint = { ...written, model_member: member, model_value: member === null ? null : value };
      const before = known.get(`${id} ${endpoint.region}`);
      const isKept = before?.withdrawn_at === null && PROBED.every((column) => before[column] === endpoint[column]);
      return isKept ? { ...before, url: endpoint.url } : unobserved(id, endpoint, now);
    }),
  );
}

/** The row of an endpoint without a probe result: its first probe is due immediately. */
function unobserved(
  checkpointId: string,
  endpoint: Pick<Tables["endpoints"], "region" | "url" | (typeof PROBED)[number]>,
  now: string,
): Tables["endpoints"] {
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

function endpointName(endpoint: Tables["endpoints"]): readonly [string, string] {
  return [endpoint.checkpoint_id, endpoint.region];
}
