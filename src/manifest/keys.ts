/** The keys of a manifest that every robot type has; those of a custom type are in custom/keys.ts. */
import * as z from "zod";

import { TYPE_ID } from "../api/robot-terms.ts";
import type { Path } from "../documents/findings.ts";
import type { Doubt } from "../documents/read.ts";
import {
  formed,
  list,
  memberOf,
  OF_LIST,
  orNull,
  pathProblem,
  refuseRepeated,
  text,
  textsAt,
} from "../documents/schemas.ts";
import { shown, shownPath } from "../documents/texts.ts";

const MANIFEST_SCHEMA = "robot-manifest/v1";
const TYPE_ID_LIMIT = 256;
const DISPLAY_NAME_LIMIT = 128;

const schema = formed(
  "schema_version",
  (written) =>
    written === MANIFEST_SCHEMA ? undefined : `unsupported schema ${shown(written)}; expected ${MANIFEST_SCHEMA}`,
  { const: MANIFEST_SCHEMA },
);

const typeId = formed(
  "type_id_format",
  (written) =>
    written.length <= TYPE_ID_LIMIT && TYPE_ID.test(written)
      ? undefined
      : `${shown(written)} is not a type id such as acme.so101-cell.v1`,
  { maxLength: TYPE_ID_LIMIT, pattern: TYPE_ID.source },
);

/** The keys before those of a custom type. */
export const IDENTITY = {
  schema: schema.optional().describe(`Version of this format. Default: ${MANIFEST_SCHEMA}.`),
  robot_type_id: typeId.describe(
    "Id of the robot's type: one that the service knows, such as yam.bimanual-joint-position.v1, or a custom type's own.",
  ),
  display_name: orNull(text(DISPLAY_NAME_LIMIT)).describe("For people. Part of the contract of a custom type."),
  status: z
    .enum(["draft", "ready"])
    .default("ready")
    .describe("draft: checked but never registered. ready: registered."),
};

/** An entry of the list of files that decide how the robot behaves: SPEC section 2.6. */
export interface ConfigurationFileEntry {
  /** For people only; the path by default. */
  readonly label: string;
  /** As written: absolute, or starting with `~/`. */
  readonly path: string;
  /** JSON Pointer to the path in the manifest. */
  readonly loc: string;
}

export const FILE_COUNT = { minimum: 0, maximum: 64 };
const LABEL_LIMIT = 128;
/** The key of the list. */
const KEY = "configuration_files";

const filePath = formed(
  "config_path",
  (path) => {
    const problem = configurationPathProblem(path);
    return problem === undefined ? undefined : `${shownPath(path)}: ${problem}`;
  },
  { maxLength: 4096, pattern: "^(?:/|~/)[^$*?]*[^$*?/]$" },
).describe("Absolute path; ~/ stands for robot.home of the agent's configuration.");

const file = z.object({
  label: text(LABEL_LIMIT).describe("For people only; different for each file.").optional(),
  path: filePath,
});

/** The ordered list. */
const configurationFiles = list(FILE_COUNT, z.union([filePath, file], { error: () => "a path or {label, path}" }))
  .superRefine(refuseTwice, OF_LIST)
  .transform((files) => files.map(entryOf));

function entryOf(file: string | { readonly label?: string | undefined; readonly path: string }, index: number) {
  const loc = `/${KEY}/${index}`;
  if (typeof file === "string") return { label: file, path: file, loc };
  return { label: file.label ?? file.path, path: file.path, loc: `${loc}/path` };
}

const LISTED = { id: "config_duplicate", done: "listed", compared: collapse };

/** Refuses files and labels that are listed twice. */
function refuseTwice(files: unknown, ctx: z.core.$RefinementCtx): void {
  refuseRepeated(ctx, writtenPaths(files), LISTED);
  refuseRepeated(ctx, textsAt(files, "label"));
}

/** What should not be on the list, or is missing there, of a manifest that may have errors. */
export function doubtsOfFiles(files: unknown): readonly Doubt[] {
  if (files === undefined || (Array.isArray(files) && files.length === 0)) {
    return [{ id: "no_config_files", path: [KEY], message: "no configuration files: the digest covers nothing" }];
  }
  return writtenPaths(files).flatMap(({ text, path }) => {
    const reason = unsuitability(text);
    if (reason === undefined) return [];
    const message = `${shownPath(text)} ${reason}; it should not be part of the digest`;
    return [{ id: "config_unsuitable", path: [KEY, ...path], message }];
  });
}

/** The valid paths of a list that may be wrong. */
function writtenPaths(files: unknown): readonly { readonly text: string; readonly path: Path }[] {
  if (!Array.isArray(files)) return [];
  return files.flatMap((file: unknown, index) => {
    const text = typeof file === "string" ? file : memberOf(file, "path");
    const path = typeof file === "string" ? [index] : [index, "path"];
    return typeof text === "string" && configurationPathProblem(text) === undefined ? [{ text, path }] : [];
  });
}

/** Kernel interfaces, not files: their content is not configuration. */
const KERNEL_FOLDERS = ["/dev/", "/proc/", "/sys/"];

/** Names of files that do not configure the robot's motion, or must not be read. */
const UNSUITABLE: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  { pattern: /\.log$/, reason: "is a log" },
  { pattern: /^cached_cloud_config_.*\.json$/s, reason: "is a cache that a server rewrites" },
  { pattern: /^(?:norm_stats|dataset_statistics)\.json$/, reason: "belongs to the checkpoint" },
  { pattern: /^(?:\.env|id_rsa|id_ed25519|id_ecdsa)$|\.(?:pem|key)$/, reason: "is a credential" },
];

/** Why a path is invalid in the list; undefined for a valid path. */
function configurationPathProblem(path: string): string | undefined {
  if (!path.startsWith("/") && !path.startsWith("~/")) return "not absolute; start it with / or ~/";
  if (/[$*?]/.test(path)) return "$, * and ? have no meaning here; write the path out";
  if (path.endsWith("/")) return "a folder, not a file";
  if (KERNEL_FOLDERS.some((folder) => collapse(path).startsWith(folder))) return "not a configuration file";
  return pathProblem(path);
}

/** The path with `//` and `/./` collapsed, to compare two spellings. */
function collapse(path: string): string {
  return path.replaceAll(/\/(?:\.?\/)+/g, "/");
}

/** Why a file should not be in the digest, judged by its name; undefined for a suitable file. */
function unsuitability(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return UNSUITABLE.find(({ pattern }) => pattern.test(name))?.reason;
}

/** The key after those of a custom type. */
export const FILES = {
  configuration_files: configurationFiles
    .default([])
    .describe(
      "Files that decide how the robot behaves, such as calibration. Their order counts; a change registers the robot again.",
    ),
};
