/**
 * The robot manifest: the type of the robot, and the files that configure it (SPEC of the format: robot manifest v1).
 *
 * Reads bytes, and returns findings with line and column, and the manifest if none of them is an error. The stages are those of the
 * specification: document.ts checks bytes and document, this file shape and identity. A manifest without body keys of a custom robot type is
 * *by id*; body keys are read by custom/.
 */
import { ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { type ConfigurationFileEntry, warnOfNoFiles } from "./configuration-files.ts";
import type { Body } from "./custom/body.ts";
import type { Contract } from "./custom/contract.ts";
import type * as custom from "./custom/custom.ts";
import { type Document, readDocument } from "../documents/document.ts";
import { type Check, fieldsOf, type Place } from "../documents/fields.ts";
import type { Finding } from "../documents/findings.ts";
import { readKeys } from "../documents/keys.ts";
import { FILES, IDENTITY } from "./manifest-keys.ts";
import type { Position } from "../documents/lines.ts";
import { nearest } from "../documents/nearest.ts";
import { below } from "../documents/pointer.ts";
import { startCheck } from "../documents/settings.ts";
import { type Node, valueOf } from "../documents/tree.ts";

export interface RobotManifest {
  readonly form: "by-id" | "custom";
  readonly robot_type_id: string;
  readonly display_name: string | null;
  /** A draft is checked but never registered. */
  readonly status: "draft" | "ready";
  /** In digest order. */
  readonly configuration_files: readonly ConfigurationFileEntry[];
  /** Sent as `contract`; null for a type that the service knows by id. */
  readonly contract: Contract | null;
  /** The catalog type that says what the joints of arms are in; null where the manifest says it itself. */
  readonly unit_from: string | null;
  /** JSON Pointer to what determines the contract's part at `path`; the root where nothing nearer is known. */
  contractSource(path: readonly (string | number)[]): string;
}

export interface ManifestReading {
  readonly findings: readonly Finding[];
  /** Null when a finding is an error, and for a draft that still has placeholders. */
  readonly manifest: RobotManifest | null;
  /** The position of a JSON Pointer; for a missing value, that of the nearest ancestor. */
  locate(loc: string): Position;
}

export const MANIFEST_LIMIT_BYTES = 1_048_576;

/** Keys that describe a robot type. A manifest with one of them is not by id. */
const BODY_KEYS = [
  "extends",
  "topology",
  "action_semantics",
  "gripper",
  "control_rate_hz",
  "groups",
  "cameras",
] as const;

/** Messages for keys that belong to the agent's configuration. */
const HINTS: ReadonlyMap<string, string> = new Map(
  ["name", "region", ...ROBOT_TEXT_NAMES, "labels"].map((key) => [
    key,
    `robot.${key} belongs to the agent's configuration, config.yaml`,
  ]),
);

/** Reads a manifest and reports all findings of all stages that can be reached. */
export async function readManifest(bytes: Uint8Array, catalog: Catalog): Promise<ManifestReading> {
  const reading = readDocument(bytes, { subject: "manifest", sizeLimitBytes: MANIFEST_LIMIT_BYTES });
  if (reading.kind === "refused") {
    return { findings: reading.findings, manifest: null, locate: () => ({ line: 1, column: 1 }) };
  }
  const { document } = reading;
  const check = startManifestCheck(document);
  const custom = hasBody(document.root) ? await import("./custom/custom.ts") : null;
  const shape = checkShape({ node: document.root, path: null, check }, custom);
  const isChecked = shape !== undefined && !check.findings.hasError && check.placeholders === 0;
  return {
    manifest: isChecked ? completeManifest(shape, document, check, catalog, custom) : null,
    findings: check.findings.toFindings(),
    locate: (loc) => document.locate(loc),
  };
}

type Custom = typeof custom;

function hasBody(root: Node): boolean {
  return root.kind === "mapping" && root.entries.some(({ key }) => BODY_KEYS.some((body) => body === key));
}

function startManifestCheck(document: Document): Check {
  const status = document.root.kind === "mapping" ? valueOf(document.root, "status") : undefined;
  const isDraft = status?.kind === "scalar" && status.text === "draft";
  const rules = { subject: "manifest", secretAdvice: "", hints: HINTS } as const;
  return startCheck(document, rules, isDraft ? "warning" : "error");
}

/** Stage 3: each key by itself. */
function checkShape(root: Place, custom: Custom | null): Shape | undefined {
  const fields = fieldsOf(root);
  if (fields === undefined) return undefined;
  const { robot_type_id: robotTypeId, ...keys } = readKeys(fields, IDENTITY);
  const body = custom?.readCustomBody(fields) ?? null;
  if (body === null) for (const key of BODY_KEYS) fields.skip(key);
  const files = readKeys(fields, FILES);
  fields.close();
  if (!isWritten(root.node, "configuration_files"))
    warnOfNoFiles({ ...root, path: below(null, "configuration_files") });
  return robotTypeId === undefined ? undefined : { ...keys, ...files, robot_type_id: robotTypeId, body };
}

/** The result of stage 3. */
interface Shape extends Pick<RobotManifest, "robot_type_id" | "display_name" | "status" | "configuration_files"> {
  /** Null by id. */
  readonly body: Body | null;
}

/** Stages 4 to 6. */
function completeManifest(
  { body, ...shape }: Shape,
  document: Document,
  check: Check,
  catalog: Catalog,
  custom: Custom | null,
): RobotManifest | null {
  if (body === null || custom === null) {
    checkIdentity(shape.robot_type_id, document, check, catalog);
    const none = { contract: null, contractSource: () => "" };
    return { ...shape, ...none, form: "by-id", unit_from: shape.robot_type_id };
  }
  const { root } = document;
  const identity = { value: shape.robot_type_id, path: below(null, "robot_type_id"), offset: offsetOfTypeId(document) };
  const described = custom.describeRobot(
    { type_id: identity, display_name: shape.display_name, body, root: { path: null, offset: root.offset } },
    check.findings,
  );
  if (described === null) return null;
  const contract = shape.status === "draft" ? null : described.contract;
  return { ...shape, ...described, form: "custom", contract };
}

function offsetOfTypeId({ root }: Document): number {
  return (root.kind === "mapping" ? valueOf(root, "robot_type_id")?.offset : undefined) ?? 0;
}

/** Stage 4, by id: warns of a type that the service may not know. */
function checkIdentity(robotTypeId: string, document: Document, { findings }: Check, catalog: Catalog): void {
  if (catalog.get(robotTypeId)?.hosted === true) return;
  const meant = catalog.has(robotTypeId) ? undefined : nearest(robotTypeId, catalog.keys());
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  const message = `${robotTypeId} is not a known hosted type; the service may refuse it${hint}`;
  findings.warning("type_id_unlisted", below(null, "robot_type_id"), offsetOfTypeId(document), message);
}

function isWritten(node: Node, key: string): boolean {
  return node.kind === "mapping" && valueOf(node, key) !== undefined;
}
