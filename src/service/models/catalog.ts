/**
 * The model catalog: the models that a site offers, their checkpoints, and the endpoints of those in each region.
 *
 * It is a YAML file that a technician edits and applies (config/models.example.yaml). It is read with the strict reader of the robot
 * manifest, which reports all mistakes at once, each with line and column. plan.ts compares it with the store; obstacles.ts checks which
 * robots a checkpoint can drive.
 */
import { REGION_LENGTH } from "../../api/robots.ts";
import { fail, mapping, type Place, type Reader } from "../../documents/fields.ts";
import { nearest } from "../../documents/nearest.ts";
import { below, pointer } from "../../documents/pointer.ts";
import { list, string, text } from "../../documents/readers.ts";
import { readSettings, type SettingsReading } from "../../documents/settings.ts";
import { shown } from "../../documents/shown.ts";
import { valueOf } from "../../documents/tree.ts";
import { defaultHealthUrl, endpointUrl, matching, moment, requirements, unique } from "./catalog-readers.ts";
import { isCheckpointId, isSlug } from "./names.ts";
import { NO_REQUIREMENTS, type Requirements } from "./requirements.ts";

export interface Catalog {
  readonly models: readonly CatalogModel[];
}

export interface CatalogModel {
  /** Its name in the API: `pi0.5`. */
  readonly slug: string;
  readonly display_name: string;
  readonly vendor: string | null;
  readonly model_type: string | null;
  readonly license_tier: string | null;
  /** The checkpoint that the slug refers to. */
  readonly default_checkpoint_id: string;
  readonly checkpoints: readonly CatalogCheckpoint[];
}

export interface CatalogCheckpoint {
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly requirements: Requirements;
  /** At most one in each region. */
  readonly endpoints: readonly CatalogEndpoint[];
  /** JSON Pointer to its id in the file. */
  readonly loc: string;
}

export interface CatalogEndpoint {
  readonly region: string;
  readonly url: string;
  readonly health_url: string;
}

export const CATALOG_LIMIT_BYTES = 1_048_576;
const MODELS = { minimum: 0, maximum: 256 } as const;
const CHECKPOINTS = { minimum: 1, maximum: 64 } as const;
const ENDPOINTS = { minimum: 0, maximum: 64 } as const;
const NAME_LIMIT = 128;

const slugText = matching(isSlug, "a slug such as pi0.5: at most 64 lower-case letters, digits and . _ -");
const checkpointId = matching(
  isCheckpointId,
  "a checkpoint id such as ckpt_pi05_base: ckpt_, then lower-case letters, digits and . _ -, at most 64 in all",
);

/** Messages for keys with the names of other catalogs. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["name", "a model has a slug and a display_name"],
  ["default_checkpoint_id", "write default_checkpoint"],
]);

const SECRET_ADVICE = ": endpoints are called without credentials";

export function readCatalog(bytes: Uint8Array): SettingsReading<Catalog> {
  const rules = {
    subject: "catalog",
    sizeLimitBytes: CATALOG_LIMIT_BYTES,
    secretAdvice: SECRET_ADVICE,
    hints: HINTS,
  } as const;
  return readSettings(bytes, rules, readRoot);
}

/** Names that must be unique in the file, with the offset of their first use. */
interface Seen {
  readonly slugs: Map<string, number>;
  readonly checkpointIds: Map<string, number>;
}

const readRoot: Reader<Catalog> = mapping((fields) => {
  const seen: Seen = { slugs: new Map(), checkpointIds: new Map() };
  const models = fields.required("models", list(MODELS, model(seen)));
  return models === undefined ? undefined : { models };
});

function model(seen: Seen): Reader<CatalogModel> {
  return mapping((fields, place) => {
    const slug = fields.required("slug", unique(seen.slugs, slugText));
    const displayName = fields.optional("display_name", text(NAME_LIMIT)) ?? slug;
    const vendor = fields.optional("vendor", text(NAME_LIMIT)) ?? null;
    const modelType = fields.optional("model_type", text(NAME_LIMIT)) ?? null;
    const licenseTier = fields.optional("license_tier", text(NAME_LIMIT)) ?? null;
    const ids: string[] = [];
    const checkpoints = fields.required("checkpoints", list(CHECKPOINTS, checkpoint(seen, ids))) ?? [];
    const chosen = fields.optional("default_checkpoint", oneOfCheckpoints(ids));
    const defaultCheckpointId = chosen ?? newest(checkpoints, place);
    if (slug === undefined || displayName === undefined || defaultCheckpointId === undefined) return undefined;
    return {
      slug,
      display_name: displayName,
      vendor,
      model_type: modelType,
      license_tier: licenseTier,
      default_checkpoint_id: defaultCheckpointId,
      checkpoints,
    };
  });
}

/** @param ids receives the ids of the model's checkpoints, also of invalid ones. */
function checkpoint(seen: Seen, ids: string[]): Reader<CatalogCheckpoint> {
  return mapping((fields, place) => {
    const id = fields.required("id", unique(seen.checkpointIds, checkpointId));
    const createdAt = fields.required("created_at", moment);
    const needed = fields.optional("requirements", requirements) ?? NO_REQUIREMENTS;
    const endpoints = fields.required("endpoints", list(ENDPOINTS, endpoint(new Map()))) ?? [];
    if (id !== undefined) ids.push(id);
    if (id === undefined || createdAt === undefined) return undefined;
    return { id, createdAt, requirements: needed, endpoints, loc: pointer(below(place.path, "id")) };
  });
}

/** @param regions the regions of the checkpoint so far. */
function endpoint(regions: Map<string, number>): Reader<CatalogEndpoint> {
  return mapping((fields) => {
    const region = fields.required("region", unique(regions, text(REGION_LENGTH.maximum)));
    const url = fields.required("url", endpointUrl);
    const healthUrl = fields.optional("health_url", endpointUrl);
    if (region === undefined || url === undefined) return undefined;
    return { region, url, health_url: healthUrl ?? defaultHealthUrl(url) };
  });
}

function oneOfCheckpoints(ids: readonly string[]): Reader<string> {
  return (place) => {
    const written = string(place);
    if (written === undefined || ids.includes(written)) return written;
    const near = nearest(written, ids);
    const hint = near === undefined ? "" : `; did you mean ${near}?`;
    return fail(place, "unknown_checkpoint", `${shown(written)} is not a checkpoint of this model${hint}`);
  };
}

/** The default checkpoint if none is set. */
function newest(checkpoints: readonly CatalogCheckpoint[], { node, path, check }: Place): string | undefined {
  const [first, second] = checkpoints.toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
  const isWritten = node.kind === "mapping" && valueOf(node, "default_checkpoint") !== undefined;
  if (!isWritten && first !== undefined && first.createdAt === second?.createdAt) {
    const message = `${first.id} and ${second.id} are equally new; set default_checkpoint to one of them`;
    check.findings.error("missing", below(path, "default_checkpoint"), node.offset, message);
  }
  return first?.id;
}
