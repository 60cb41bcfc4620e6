/**
 * The model catalog: the models that a site offers, their checkpoints, and the endpoints of those in each region.
 *
 * It is a YAML file that a technician edits and applies (config/models.example.yaml). It is read with the strict reader of the robot
 * manifest, which reports all mistakes at once, each with line and column. plan.ts compares it with the store; obstacles.ts checks which
 * robots a checkpoint can drive.
 */
import * as z from "zod";

import { REGION_LENGTH } from "../../api/robots.ts";
import type { Finding, Position } from "../../documents/findings.ts";
import { nearest } from "../../documents/nearest.ts";
import { readSettings, type SettingsReading } from "../../documents/read.ts";
import {
  list,
  memberOf,
  name,
  OF_MAPPING,
  refuse,
  refuseRepeated,
  rightMembers,
  text,
  textsAt,
  uniqueBy,
} from "../../documents/schemas.ts";
import { shown } from "../../documents/texts.ts";
import type { Files } from "../../platform/files/files.ts";
import { readEditedFile } from "../kernel/edited-file.ts";
import { dateTime, defaultHealthUrl, endpointUrl, requirements } from "./catalog-readers.ts";
import { NO_REQUIREMENTS } from "./requirements.ts";

/** Ids of checkpoints, which the operator chooses, are never slugs. */
export const CHECKPOINT_ID = /^ckpt_[a-z0-9](?:[a-z0-9._-]{0,57}[a-z0-9])?$/;
/** A model's slug: one path segment, at most 64 characters. */
export const SLUG = /^(?!ckpt_)[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** The contents of a catalog file, with all defaults. */
export type Catalog = z.output<typeof catalog>;
export type CatalogModel = Catalog["models"][number];
export type CatalogEndpoint = z.output<typeof endpoint>;

const CATALOG_LIMIT_BYTES = 1_048_576;
const MODELS = { minimum: 0, maximum: 256 } as const;
const CHECKPOINTS = { minimum: 1, maximum: 64 } as const;
const ENDPOINTS = { minimum: 0, maximum: 64 } as const;
const NAME_LIMIT = 128;

const RULES = {
  subject: "catalog",
  sizeLimitBytes: CATALOG_LIMIT_BYTES,
  secretAdvice: ": endpoints are called without credentials",
  hints: new Map<string, string>(),
} as const;

const FILE_RULES = { subject: "catalog", example: "config/models.example.yaml", limitBytes: CATALOG_LIMIT_BYTES };

export function readCatalog(bytes: Uint8Array): SettingsReading<Catalog> {
  return readSettings(bytes, RULES, catalog);
}

/** A valid catalog file. */
export interface CatalogFile {
  readonly bytes: Uint8Array;
  readonly catalog: Catalog;
  locate(loc: string): Position;
}

export type CatalogFileReading =
  | { readonly state: "read"; readonly file: CatalogFile }
  | { readonly state: "refused"; readonly findings: readonly Finding[]; readonly bytes: Uint8Array | null };

/** Reads the catalog at `path`. A file that cannot be read is a finding, too. */
export async function readCatalogFile(files: Files, path: string): Promise<CatalogFileReading> {
  const bytes = await readEditedFile(files, path, FILE_RULES);
  if (!(bytes instanceof Uint8Array)) return { state: "refused", findings: [bytes], bytes: null };
  const { value: catalog, findings, locate } = readCatalog(bytes);
  if (catalog === null) return { state: "refused", findings, bytes };
  return { state: "read", file: { bytes, catalog, locate } };
}

/** At most one of a checkpoint in each region. */
const endpoint = z
  .object({
    region: text(REGION_LENGTH.maximum),
    url: endpointUrl,
    health_url: endpointUrl.optional(),
  })
  .transform(({ region, url, health_url: healthUrl = defaultHealthUrl(url) }) => ({
    region,
    url,
    health_url: healthUrl,
  }));

const checkpoint = z.object({
  id: name(
    CHECKPOINT_ID,
    "a checkpoint id such as ckpt_pi05_base: ckpt_, then lower-case letters, digits and . _ -, at most 64 in all",
  ),
  created_at: dateTime,
  requirements: requirements.default(NO_REQUIREMENTS),
  endpoints: uniqueBy("region", ENDPOINTS, endpoint),
});

const label = text(NAME_LIMIT).optional();

const model = z
  .object({
    slug: name(SLUG, "a slug such as pi0.5: at most 64 lower-case letters, digits and . _ -"),
    display_name: label,
    vendor: label,
    model_type: label,
    license_tier: label,
    checkpoints: list(CHECKPOINTS, checkpoint),
    default_checkpoint: z.string().optional(),
  })
  .superRefine((written, ctx) => {
    const { default_checkpoint: chosen } = rightMembers(written, ctx);
    // Also of a checkpoint that is wrong otherwise.
    const ids = textsAt(written.checkpoints, "id").flatMap(({ text }) => (typeof text === "string" ? [text] : []));
    if (chosen === undefined || ids.includes(chosen)) return;
    const near = nearest(chosen, ids);
    const hint = near === undefined ? "" : `; did you mean ${near}?`;
    const message = `${shown(chosen)} is not a checkpoint of this model${hint}`;
    refuse(ctx, { id: "unknown_checkpoint", message, path: ["default_checkpoint"] });
  }, OF_MAPPING)
  .superRefine((written, ctx) => {
    const { checkpoints = [] } = rightMembers(written, ctx);
    const [first, second] = newestFirst(checkpoints);
    if (written.default_checkpoint !== undefined || first === undefined || second === undefined) return;
    if (first.created_at !== second.created_at) return;
    const message = `${first.id} and ${second.id} are equally new; set default_checkpoint to one of them`;
    refuse(ctx, { id: "missing", message, path: ["default_checkpoint"] });
  }, OF_MAPPING);

function newestFirst(checkpoints: readonly z.output<typeof checkpoint>[]): readonly z.output<typeof checkpoint>[] {
  return checkpoints.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
}

const catalog = z
  .object({ models: uniqueBy("slug", MODELS, model) })
  .superRefine(({ models }, ctx) => {
    const lists = Array.isArray(models) ? models.map((each) => memberOf(each, "checkpoints")) : [];
    const ids = lists.flatMap((each, index) => textsAt(each, "id", ["models", index, "checkpoints"]));
    refuseRepeated(ctx, ids);
  }, OF_MAPPING)
  .transform(({ models }) => ({ models: models.map(completeModel) }));

/** `loc` is the JSON Pointer to the id of a checkpoint. */
function completeModel(written: z.output<typeof model>, index: number) {
  const { slug, display_name: displayName = slug, vendor = null, checkpoints } = written;
  const { model_type: modelType = null, license_tier: licenseTier = null } = written;
  return {
    slug,
    display_name: displayName,
    vendor,
    model_type: modelType,
    license_tier: licenseTier,
    // The one that the slug refers to. At least one is required.
    default_checkpoint_id: written.default_checkpoint ?? newestFirst(checkpoints)[0]?.id ?? "",
    checkpoints: checkpoints.map(({ id, created_at: createdAt, requirements, endpoints }, position) => ({
      id,
      createdAt,
      requirements,
      endpoints,
      loc: `/models/${index}/checkpoints/${position}/id`,
    })),
  };
}
