/**
 * The model catalog: the models that a site offers, their checkpoints, and the endpoints of those in each region.
 *
 * It is a YAML file that a technician edits and applies (config/models.example.yaml). It is read with the strict reader of the robot
 * manifest, which reports all mistakes at once, each with line and column. plan.ts compares it with the store; obstacles.ts checks which
 * robots a checkpoint can drive.
 */
import { dirname, join } from "node:path";

import * as z from "zod";

import { type RobotContract, robotContractSchema } from "../../api/contract.ts";
import { eachOf } from "../../api/robot-texts.ts";
import { CONFIGURATION_DIGEST_PATTERN, REGION_LENGTH, ROBOT_TYPE_ID_LENGTH } from "../../api/robots.ts";
import type { Finding, Position } from "../../documents/findings.ts";
import { nearest } from "../../documents/nearest.ts";
import { readSettings, type SettingsReading } from "../../documents/read.ts";
import {
  formed,
  integer,
  list,
  memberOf,
  name,
  number,
  OF_MAPPING,
  orNull,
  pathProblem,
  refuse,
  refuseRepeated,
  rightMembers,
  text,
  textsAt,
  uniqueBy,
  uniqueTexts,
} from "../../documents/schemas.ts";
import { isSecretKey } from "../../documents/secrets.ts";
import { shown, shownPath } from "../../documents/texts.ts";
import type { Files } from "../../platform/files/files.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { readEditedFile } from "../kernel/edited-file.ts";
import { catalogEquipment } from "../robots/index.ts";
import {
  AXIS_UNITS,
  type AxesRequirement,
  type Fact,
  FACTS,
  NO_REQUIREMENTS,
  type Requirements,
} from "./requirements.ts";

/** Ids of checkpoints, which the operator chooses, are never slugs. */
export const CHECKPOINT_ID = /^ckpt_[a-z0-9](?:[a-z0-9._-]{0,57}[a-z0-9])?$/;
/** A model's slug: one path segment, at most 64 characters. */
export const SLUG = /^(?!ckpt_)[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** The contents of a catalog file, with all defaults. */
export type Catalog = z.output<typeof catalog>;
export type CatalogModel = Catalog["models"][number];

const CATALOG_LIMIT_BYTES = 1_048_576;
const MODELS = { minimum: 0, maximum: 256 } as const;
const CHECKPOINTS = { minimum: 1, maximum: 64 } as const;
const ENDPOINTS = { minimum: 0, maximum: 64 } as const;
const NAME_LIMIT = 128;
/** A longer URL is probably a mistake. */
const URL_LENGTH_MAXIMUM = 2048;
/** Path of the health check, below the URL of the endpoint. */
const HEALTH_PATH = "/health";
/** A name or an index a level. */
const MEMBER_PATH = /^[\w-]{1,64}(?:\.[\w-]{1,64}){0,7}$/;
/** The maximum of a robot manifest; higher requirements could never be met. */
const CAMERA_ROLES = { minimum: 0, maximum: 8 } as const;
const AXES = { minimum: 0, maximum: 256 } as const;
/** Of each kind. */
const REFERENCES = { minimum: 0, maximum: 8 } as const;
/** Also an id. */
const ROBOT_NAME_LENGTH = 256;
/** UTF-8 bytes; a contract of 256 axes has some 100 KB. */
const CONTRACT_LIMIT_BYTES = 1_048_576;
const ROBOT_TYPES = { minimum: 0, maximum: 64 } as const;

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
  /** By their paths, as the catalog has them. */
  readonly contracts: ReadonlyMap<string, RobotContract>;
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
  const { contracts, refusals } = await readContracts(files, dirname(path), catalog);
  if (refusals.length > 0)
    return { state: "refused", findings: refusals.map((each) => placedFinding(each, locate)), bytes };
  return { state: "read", file: { bytes, catalog, contracts, locate } };
}

/** What is wrong with the place that a JSON Pointer leads to. */
export interface PlacedRefusal {
  readonly id: string;
  readonly loc: string;
  readonly message: string;
}

export function placedFinding(refusal: PlacedRefusal, locate: CatalogFile["locate"]): Finding {
  return { severity: "error", ...refusal, ...locate(refusal.loc) };
}

/** The checkpoints that say what they were trained on. @returns `loc` of that. */
export function trainedCheckpoints({ models }: Catalog) {
  return models.flatMap(({ checkpoints }, model) =>
    checkpoints.flatMap(({ id, trained_on: training }, checkpoint) =>
      training === undefined ? [] : [{ id, training, loc: `/models/${model}/checkpoints/${checkpoint}/trained_on` }],
    ),
  );
}

/** The contracts that checkpoints were trained on, from their files beside the catalog. */
async function readContracts(files: Files, folder: string, catalog: Catalog) {
  const contracts = new Map<string, RobotContract>();
  const refusals: PlacedRefusal[] = [];
  for (const { training, loc } of trainedCheckpoints(catalog)) {
    for (const [index, path] of training.contracts.entries()) {
      const contract = contracts.get(path) ?? (await readContract(files, join(folder, path)));
      if (typeof contract !== "string") contracts.set(path, contract);
      else refusals.push({ id: "contract_unreadable", loc: `${loc}/contracts/${index}`, message: contract });
    }
  }
  return { contracts, refusals };
}

/** @returns the contract, or why it cannot be read. */
async function readContract(files: Files, path: string): Promise<RobotContract | string> {
  const advice = "write it on the robot: robot-policy-agent contract --json > FILE";
  const rules = { subject: "contract", example: "", limitBytes: CONTRACT_LIMIT_BYTES };
  const bytes = await readEditedFile(files, path, rules);
  if (!(bytes instanceof Uint8Array)) {
    const problem = bytes.id === "file_missing" ? "there is no such file" : bytes.message;
    return `${shownPath(path)}: ${problem}; ${advice}`;
  }
  const printed = parseJson(Buffer.from(bytes).toString());
  const { data, error } = robotContractSchema.safeParse(memberOf(printed, "contract") ?? printed);
  if (error === undefined) return data;
  const where = error.issues[0]?.path.join(".") ?? "";
  return `${shownPath(path)}: not a contract${where === "" ? "" : `, see ${shown(where)}`}; ${advice}`;
}

const dateTimeSchema = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A day, in UTC, or a time with its zone, made ISO 8601 in UTC with milliseconds. */
const dateTime = z
  .string()
  .superRefine((written, ctx) => {
    if (dateTimeSchema.safeParse(written).success) return;
    const message = `${shown(written)} is not a date such as 2026-01-31 or 2026-01-31T08:00:00Z`;
    refuse(ctx, { id: "date_format", message });
  })
  .transform((written) => new Date(written).toISOString());

/** The http(s) URL of an endpoint, without a slash at the end. It is shown to robots and in logs, so it must not contain a secret. */
const endpointUrl = z
  .string()
  .superRefine((written, ctx) => {
    const url = parsePlainUrl(written);
    if (url === null) {
      const message = "expected a URL, http://HOST:PORT or https://HOST, without a fragment";
      refuse(ctx, { id: "url_format", message });
    } else if (url.username !== "" || url.password !== "" || [...url.searchParams.keys()].some(isSecretKey)) {
      // The message does not repeat the URL.
      const message = "the URL contains a credential, which every robot and log would show";
      refuse(ctx, { id: "secret_in_catalog", message });
    }
  })
  .transform((written) => {
    const { search, href } = new URL(written);
    return search === "" ? href.replace(/\/+$/, "") : href;
  });

/** Null for a text that is no such URL, or another than it seems: the parser drops white space and control characters. */
function parsePlainUrl(written: string): URL | null {
  const isPlain = written.length <= URL_LENGTH_MAXIMUM && !/[\s\p{Cc}\p{Cf}\\#]/u.test(written);
  const url = isPlain ? URL.parse(written) : null;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  return isHttp && url.port !== "0" ? url : null;
}

/** The health URL of an endpoint, if the catalog gives none. */
function defaultHealthUrl(endpoint: string): string {
  const url = new URL(endpoint);
  url.search = "";
  url.pathname = url.pathname.replace(/\/+$/, "") + HEALTH_PATH;
  return url.href;
}

const cameraRole = name(/^[a-z][a-z0-9_]{0,63}$/, "a camera role: lower-case letters, digits and _ only");
const axisName = name(
  /^[a-z][a-z0-9_]{0,63}\.[a-z][a-z0-9_]{0,63}\.(?:position|velocity|effort|delta)$/,
  "the name of an axis such as arm.joint_1.position",
);

const axes = z
  .object({
    count: integer(AXES).optional(),
    minimum_count: integer(AXES).optional(),
    maximum_count: integer(AXES).optional(),
    units: uniqueTexts({ minimum: 1, maximum: AXIS_UNITS.length }, z.literal(AXIS_UNITS)).optional(),
    names: uniqueTexts({ minimum: 1, maximum: AXES.maximum }, axisName).optional(),
  })
  .superRefine((written, ctx) => {
    const { count, minimum_count: minimum, maximum_count: maximum, names = [] } = rightMembers(written, ctx);
    // Each required name is an axis.
    const least = Math.max(count ?? minimum ?? 0, names.length);
    const most = count ?? maximum;
    if (count !== undefined && (minimum !== undefined || maximum !== undefined)) {
      const message = "count is the exact number; omit minimum_count and maximum_count";
      refuse(ctx, { id: "not_applicable", message });
    } else if (most !== undefined && most < least) {
      refuse(ctx, { id: "count_order", message: `at least ${least} axes are required and at most ${most}` });
    }
  }, OF_MAPPING)
  .transform(
    ({ count, minimum_count: minimum = 0, maximum_count: maximum, units = [], names = [] }): AxesRequirement => ({
      minimum_count: count ?? minimum,
      maximum_count: count ?? maximum ?? null,
      units,
      names,
    }),
  );

/** What a checkpoint requires of a robot. Omitted members require nothing. */
const requirements = z
  .object({
    robot_types: uniqueTexts(ROBOT_TYPES, text(ROBOT_TYPE_ID_LENGTH.maximum)).default([]),
    camera_roles: uniqueTexts(CAMERA_ROLES, cameraRole).default([]),
    state_axes: axes.optional(),
    action_axes: axes.optional(),
  })
  .transform(({ state_axes: stateAxes = null, action_axes: actionAxes = null, ...named }): Requirements => ({
    ...NO_REQUIREMENTS,
    ...named,
    state_axes: stateAxes,
    action_axes: actionAxes,
  }));

/** Facts in which a difference refuses a robot, unless the catalog says otherwise; in the others one is said. */
const REQUIRED_FACTS: readonly Fact[] = ["axes", "order", "units", "signs", "camera_roles"];

const facts = uniqueTexts({ minimum: 0, maximum: FACTS.length }, z.literal(FACTS)).optional();

const readyType = formed("unknown_type", (written) =>
  catalogEquipment(written).state_axes !== null
    ? undefined
    : `${shown(written)} is no type of the ready catalog; robot-policy-agent catalog lists them`,
);
const contractPath = formed("path_format", (path) => {
  const problem = path.startsWith("/") ? "expected a path below the folder of the catalog" : pathProblem(path);
  return problem === undefined ? undefined : `${shownPath(path)}: ${problem}`;
});

/** Robots that a checkpoint was trained on, and the facts in which others must be alike. */
const trainedOn = z
  .object({
    robots: list(
      REFERENCES,
      z.object({
        robot: text(ROBOT_NAME_LENGTH),
        digest: name(CONFIGURATION_DIGEST_PATTERN, "a digest as robot-policy robots history shows it"),
      }),
    ).default([]),
    contracts: uniqueTexts(REFERENCES, contractPath).default([]),
    types: uniqueTexts(REFERENCES, readyType).default([]),
    tolerances: z.object(eachOf(AXIS_UNITS, () => number({ minimum: 0, maximum: 1000 }).optional())).default({}),
    require: facts,
    warn: facts,
  })
  .superRefine((written, ctx) => {
    const { require = [], warn = [] } = rightMembers(written, ctx);
    for (const [index, fact] of warn.entries()) {
      if (!require.includes(fact)) continue;
      refuse(ctx, { id: "not_applicable", message: `${fact} is already in require`, path: ["warn", index] });
    }
    const lists = [written.robots, written.contracts, written.types];
    if (!lists.every((each) => Array.isArray(each) && each.length === 0)) return;
    refuse(ctx, { id: "missing", message: "robots, contracts or types names at least one that it was trained on" });
  }, OF_MAPPING)
  .transform(({ require, warn, ...written }) => ({
    ...written,
    require: require ?? REQUIRED_FACTS.filter((fact) => warn?.includes(fact) !== true),
    warn: warn ?? FACTS.filter((fact) => !(require ?? REQUIRED_FACTS).includes(fact)),
  }));
export type TrainedOn = z.output<typeof trainedOn>;

/** At most one of a checkpoint in each region. */
const endpoint = z
  .object({
    region: text(REGION_LENGTH.maximum),
    url: endpointUrl,
    health_url: endpointUrl.optional(),
    model_member: name(MEMBER_PATH, "the path of a member of a JSON document, such as model.id").optional(),
    model_value: text(NAME_LIMIT).optional(),
  })
  .superRefine((written, ctx) => {
    if (written.model_value === undefined || written.model_member !== undefined) return;
    const message = "model_value is what model_member is compared with, which is missing";
    refuse(ctx, { id: "not_applicable", message, path: ["model_value"] });
  }, OF_MAPPING)
  .transform(({ health_url: healthUrl, ...written }) => ({
    ...written,
    health_url: healthUrl ?? defaultHealthUrl(written.url),
  }));

const checkpoint = z.object({
  id: name(
    CHECKPOINT_ID,
    "a checkpoint id such as ckpt_pi05_base: ckpt_, then lower-case letters, digits and . _ -, at most 64 in all",
  ),
  created_at: dateTime,
  requirements: requirements.default(NO_REQUIREMENTS),
  trained_on: trainedOn.optional(),
  endpoints: uniqueBy("region", ENDPOINTS, endpoint),
});

const label = orNull(text(NAME_LIMIT));

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
    const { default_checkpoint: chosen, checkpoints = [] } = rightMembers(written, ctx);
    const path = ["default_checkpoint"];
    if (chosen !== undefined) {
      // Also of a checkpoint that is wrong otherwise.
      const ids = textsAt(written.checkpoints, "id").flatMap(({ text }) => (typeof text === "string" ? [text] : []));
      if (ids.includes(chosen)) return;
      const near = nearest(chosen, ids);
      const hint = near === undefined ? "" : `; did you mean ${near}?`;
      const message = `${shown(chosen)} is not a checkpoint of this model${hint}`;
      return refuse(ctx, { id: "unknown_checkpoint", message, path });
    }
    const [first, second] = newestFirst(checkpoints);
    if (written.default_checkpoint !== undefined || first?.created_at !== second?.created_at) return;
    if (first === undefined || second === undefined) return;
    const message = `${first.id} and ${second.id} are equally new; set default_checkpoint to one of them`;
    refuse(ctx, { id: "missing", message, path });
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

function completeModel({ default_checkpoint: chosen, ...written }: z.output<typeof model>) {
  // The one that the slug refers to. At least one is required.
  const defaultId = chosen ?? newestFirst(written.checkpoints)[0]?.id ?? "";
  return { ...written, display_name: written.display_name ?? written.slug, default_checkpoint_id: defaultId };
}
