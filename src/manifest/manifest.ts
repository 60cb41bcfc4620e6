/**
 * The robot manifest: the type of the robot, and the files that configure it (SPEC of the format: robot manifest v1).
 *
 * Reads bytes, and returns findings with line and column, and the manifest if none of them is an error. The stages are those of the
 * specification: documents/yaml.ts checks bytes and document, documents/read.ts each key by its schema, this file the identity. A manifest
 * without body keys of a custom robot type is *by id*; body keys are checked by custom/.
 */
import * as z from "zod";

import { eachOf, ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import { type Finding, FindingList, placed, pointer } from "../documents/findings.ts";
import { nearest } from "../documents/nearest.ts";
import { type Doubt, holdTo, refusedReading, type SettingsReading } from "../documents/read.ts";
import { type Document, openDocument } from "../documents/yaml.ts";
import { READY_CATALOG } from "./catalog/ids.ts";
import type { Contract } from "./custom/contract.ts";
import { type ConfigurationFileEntry, doubtsOfFiles } from "./configuration-files.ts";
import { FILES, IDENTITY } from "./keys.ts";

export interface RobotManifest {
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

const RULES = { subject: "manifest", sizeLimitBytes: MANIFEST_LIMIT_BYTES, secretAdvice: "", hints: HINTS } as const;

/** A manifest without body keys, which it may have. */
const BY_ID = z.object({ ...IDENTITY, ...eachOf(BODY_KEYS, () => z.unknown().optional()), ...FILES });

/** The keys that decide how a manifest is read, of a document that need not be valid; null for no mapping. */
const outline = z.record(z.string(), z.unknown()).nullable().catch(null);

/** Reads a manifest and reports all findings of all stages that can be reached. */
export async function readManifest(bytes: Uint8Array): Promise<SettingsReading<RobotManifest>> {
  const opening = openDocument(bytes, RULES);
  if (opening.kind === "refused") return refusedReading(opening.findings);
  const { document } = opening;
  const written = outline.parse(document.root.value);
  const findings = new FindingList(document.offset);
  for (const { id, path, message } of written === null ? [] : doubtsOf(written)) findings.warning(id, path, message);
  const isCustom = written !== null && BODY_KEYS.some((key) => Object.hasOwn(written, key));
  const placeholders = written?.["status"] === "draft" ? "warning" : "error";
  const value = await (isCustom ? readCustom : readById)(document, placeholders, findings);
  return { findings: placed(findings.mistakes, document.position), value, locate: document.locate };
}

function readById(document: Document, placeholders: Finding["severity"], findings: FindingList): RobotManifest | null {
  const value = holdTo(BY_ID, document, RULES, findings, placeholders);
  if (value === undefined) return null;
  checkIdentity(value.robot_type_id, findings);
  return { ...value, contract: null, unit_from: value.robot_type_id };
}

async function readCustom(
  document: Document,
  placeholders: Finding["severity"],
  findings: FindingList,
): Promise<RobotManifest | null> {
  const { CUSTOM_MANIFEST, describeRobot } = await import("./custom/contract.ts");
  const value = holdTo(CUSTOM_MANIFEST, document, RULES, findings, placeholders);
  const described = value === undefined ? null : describeRobot(value, findings);
  if (value === undefined || described === null) return null;
  const { robot_type_id, display_name, status, configuration_files } = value;
  const contract = status === "draft" ? null : described.contract;
  return { robot_type_id, display_name, status, configuration_files, ...described, contract };
}

/** JSON Pointer to the key of a manifest that decides a contract's member; the service may name any `path`. */
export function contractSource([member]: readonly (string | number)[]): string {
  const isAxes = member === "state_axes" || member === "action_axes";
  return pointer(member === undefined ? [] : [isAxes ? "groups" : member]);
}

/** Warnings about a manifest that may have errors. */
function doubtsOf(written: Readonly<Record<string, unknown>>): readonly Doubt[] {
  const draft = { id: "status_draft", path: ["status"], message: "draft: the robot will not be registered" };
  return [...(written["status"] === "draft" ? [draft] : []), ...doubtsOfFiles(written["configuration_files"])];
}

/** Stage 4, by id: warns of a type that the service may not know. */
function checkIdentity(robotTypeId: string, findings: FindingList): void {
  if (READY_CATALOG.get(robotTypeId)?.hosted === true) return;
  const meant = READY_CATALOG.has(robotTypeId) ? undefined : nearest(robotTypeId, READY_CATALOG.keys());
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  const message = `${robotTypeId} is not a known hosted type; the service may refuse it${hint}`;
  findings.warning("type_id_unlisted", ["robot_type_id"], message);
}
