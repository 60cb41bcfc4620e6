/**
 * The robot manifest: what type of robot this is, and which files decide how it behaves (SPEC of the format: robot manifest v1).
 *
 * Bytes go in; findings with file, line and column come out, and the manifest when none of them is an error. The stages are those of the
 * specification: document.ts does bytes and document, this file shape and identity. A manifest is *by id* when it has
 * none of the body keys of a custom robot type; custom types are recognized and refused.
 */
import type { RobotSetup } from "../api/robots.ts";
import type { Catalog } from "./catalog.ts";
import type { ConfigurationFileEntry } from "./configuration-files.ts";
import { configurationFiles, warnOfNoFiles } from "./configuration-files.ts";
import type { Document } from "./document.ts";
import { readDocument } from "./document.ts";
import type { Check, Fields, Place, Reader } from "./fields.ts";
import { fieldsOf } from "./fields.ts";
import type { Finding } from "./finding.ts";
import { FindingList } from "./finding-list.ts";
import type { Position } from "./lines.ts";
import { nearest } from "./nearest.ts";
import { below } from "./path.ts";
import { oneOf, string, text } from "./readers.ts";
import { shown } from "./shown.ts";
import type { Entry, Node } from "./yaml/tree.ts";
import { valueOf } from "./yaml/tree.ts";

export interface RobotManifest {
  readonly form: "by-id";
  readonly robot_type_id: string;
  readonly display_name: string | null;
  /** A draft is checked but never registered. */
  readonly status: "draft" | "ready";
  /** In digest order. */
  readonly configuration_files: readonly ConfigurationFileEntry[];
  /** What is sent as `contract`; none for a type that the service knows by its id. */
  readonly contract: NonNullable<RobotSetup["contract"]> | null;
}

export interface ManifestReading {
  readonly findings: readonly Finding[];
  /** Null when a finding is an error, and for a draft that still has placeholders. */
  readonly manifest: RobotManifest | null;
  /** Where a JSON Pointer is written; of what is not written, the innermost written value around it. */
  locate(loc: string): Position;
}

export const MANIFEST_LIMIT_BYTES = 1_048_576;
export const MANIFEST_SCHEMA = "robot-manifest/v1";
export const MANIFEST_STATUSES = ["draft", "ready"] as const;
/** First labels, then a version: `acme.so101-cell.v1`. */
export const TYPE_ID = /^(?:[a-z][a-z0-9-]*\.)+[a-z][a-z0-9-]*\.v[1-9][0-9]*$/;
export const TYPE_ID_LIMIT = 256;
export const DISPLAY_NAME_LIMIT = 128;

/** Keys that describe a robot type. A manifest that has one is not by id. */
const BODY_KEYS = [
  "extends",
  "topology",
  "action_semantics",
  "gripper",
  "control_rate_hz",
  "groups",
  "cameras",
] as const;

/** Keys of the agent's configuration that are looked for here. */
const HINTS: ReadonlyMap<string, string> = new Map(
  ["name", "region", "site", "labels"].map((key) => [
    key,
    `robot.${key} belongs to the agent's configuration, config.yaml`,
  ]),
);

/** Reads a manifest completely: every finding of every stage that can be reached. */
export function readManifest(bytes: Uint8Array, catalog: Catalog): ManifestReading {
  const reading = readDocument(bytes, { subject: "manifest", size_limit_bytes: MANIFEST_LIMIT_BYTES });
  if (reading.kind === "refused") {
    return { findings: reading.findings, manifest: null, locate: () => ({ line: 1, column: 1 }) };
  }
  const { document } = reading;
  const check = startCheck(document);
  const manifest = checkShape({ node: document.root, path: null, check });
  const isChecked = manifest !== undefined && !check.findings.hasError && check.placeholders === 0;
  if (isChecked) checkIdentity(manifest, document, check, catalog);
  return {
    findings: check.findings.toFindings(),
    manifest: isChecked ? manifest : null,
    locate: (loc) => document.locate(loc),
  };
}

function startCheck(document: Document): Check {
  const status = document.root.kind === "mapping" ? valueOf(document.root, "status") : undefined;
  const isDraft = status?.kind === "scalar" && status.text === "draft";
  const placeholder_severity = isDraft ? "warning" : "error";
  return {
    findings: new FindingList(document.lines),
    subject: "manifest",
    secret_advice: "",
    placeholder_severity,
    hints: HINTS,
    placeholders: 0,
  };
}

/** Stage 3: every written key by itself. */
function checkShape(root: Place): RobotManifest | undefined {
  const fields = fieldsOf(root);
  if (fields === undefined) return undefined;
  fields.optional("schema", schema);
  const robot_type_id = fields.required("robot_type_id", typeId);
  const display_name = fields.optional("display_name", text(DISPLAY_NAME_LIMIT));
  const status = fields.optional("status", readStatus);
  refuseCustomType(fields, root);
  const configuration_files = fields.optional("configuration_files", configurationFiles);
  fields.close();
  if (!isWritten(root.node, "configuration_files"))
    warnOfNoFiles({ ...root, path: below(null, "configuration_files") });
  if (robot_type_id === undefined) return undefined;
  return {
    form: "by-id",
    robot_type_id,
    display_name: display_name ?? null,
    status: status ?? "ready",
    configuration_files: configuration_files ?? [],
    contract: null,
  };
}

const schema: Reader<string> = (place) => {
  const written = string(place);
  if (written !== undefined && written !== MANIFEST_SCHEMA) {
    const message = `unsupported schema ${shown(written)}; expected ${MANIFEST_SCHEMA}`;
    place.check.findings.error("schema_version", place.path, place.node.offset, message);
  }
  return written;
};

const typeId: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined || (written.length <= TYPE_ID_LIMIT && TYPE_ID.test(written))) return written;
  const message = `${shown(written)} is not a type id such as acme.so101-cell.v1`;
  place.check.findings.error("type_id_format", place.path, place.node.offset, message);
  return undefined;
};

const readStatus: Reader<RobotManifest["status"]> = (place) => {
  const status = oneOf(...MANIFEST_STATUSES)(place);
  if (status === "draft") {
    place.check.findings.warning(
      "status_draft",
      place.path,
      place.node.offset,
      "draft: the robot will not be registered",
    );
  }
  return status;
};

/** Body keys are known, so that each is not unknown too; the first of them says what this version does not do. */
function refuseCustomType(fields: Fields, { check }: Place): void {
  const written = BODY_KEYS.map((key) => fields.skip(key)).filter((entry) => entry !== undefined);
  const [first] = written.sort((a: Entry, b: Entry) => a.key_offset - b.key_offset);
  if (first === undefined) return;
  const message = "custom robot types are not supported by this version; register by catalog id";
  check.findings.error("custom_type_unsupported", below(null, first.key), first.key_offset, message);
}

/** Stage 4, by id: the service has to know the type. */
function checkIdentity(manifest: RobotManifest, document: Document, { findings }: Check, catalog: Catalog): void {
  const { robot_type_id } = manifest;
  if (catalog.get(robot_type_id)?.hosted === true || document.root.kind !== "mapping") return;
  const offset = valueOf(document.root, "robot_type_id")?.offset ?? 0;
  const meant = catalog.has(robot_type_id) ? undefined : nearest(robot_type_id, catalog.keys());
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  const message = `${robot_type_id} is not a known hosted type; the service may refuse it${hint}`;
  findings.warning("type_id_unlisted", below(null, "robot_type_id"), offset, message);
}

function isWritten(node: Node, key: string): boolean {
  return node.kind === "mapping" && valueOf(node, key) !== undefined;
}
