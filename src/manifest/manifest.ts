/**
 * The robot manifest: the type of the robot, and the files that configure it (SPEC of the format: robot manifest v1).
 *
 * Reads bytes, and returns findings with line and column, and the manifest if none of them is an error. The stages are those of the
 * specification: documents/yaml.ts checks bytes and document, documents/read.ts each key by its schema, this file the identity. A manifest
 * without body keys of a custom robot type is *by id*; body keys are checked by custom/.
 */
import * as z from "zod";

import { eachOf, ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import { type Finding, FindingList, placed, pointer, type Position } from "../documents/findings.ts";
import { nearest } from "../documents/nearest.ts";
import { type Doubt, holdTo, mistakeAt, refusedReading } from "../documents/read.ts";
import { openDocument } from "../documents/yaml.ts";
import type { Catalog } from "./catalog/ids.ts";
import { type ConfigurationFileEntry, doubtsOfFiles } from "./configuration-files.ts";
import type { Contract } from "./custom/contract.ts";
import { FILES, IDENTITY } from "./manifest-keys.ts";

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

const RULES = { subject: "manifest", sizeLimitBytes: MANIFEST_LIMIT_BYTES, secretAdvice: "", hints: HINTS } as const;

/** A manifest without body keys, which it may have. */
const BY_ID = z.object({ ...IDENTITY, ...eachOf(BODY_KEYS, () => z.unknown().optional()), ...FILES });

/** The keys that decide how a manifest is read. The document need not be valid. */
const outline = z.record(z.string(), z.unknown()).catch({});

/** Reads a manifest and reports all findings of all stages that can be reached. */
export async function readManifest(bytes: Uint8Array, catalog: Catalog): Promise<ManifestReading> {
  const opening = openDocument(bytes, RULES);
  if (opening.kind === "refused") {
    const { findings, locate } = refusedReading(opening.findings);
    return { findings, manifest: null, locate };
  }
  const { document } = opening;
  const written = outline.parse(document.root.value);
  const custom = BODY_KEYS.some((key) => Object.hasOwn(written, key)) ? await import("./custom/custom.ts") : null;
  const placeholders = written["status"] === "draft" ? "warning" : "error";
  const findings = new FindingList(document.offset);
  const finish = (manifest: RobotManifest | null, mistakes: FindingList["mistakes"]): ManifestReading => ({
    findings: placed(mistakes, document.position),
    manifest,
    locate: document.locate,
  });
  const doubts = document.root.source === null && !Array.isArray(document.root.value) ? doubtsOf(written) : [];
  const warnings = doubts.map((doubt) => mistakeAt(document, "warning", doubt));
  if (custom === null) {
    const { value, mistakes } = holdTo(BY_ID, document, RULES, placeholders);
    if (value === undefined) return finish(null, [...mistakes, ...warnings]);
    checkIdentity(value.robot_type_id, findings, catalog);
    const manifest: RobotManifest = { ...value, form: "by-id", contract: null, unit_from: value.robot_type_id };
    return finish(manifest, [...mistakes, ...warnings, ...findings.mistakes]);
  }
  const { value, mistakes } = holdTo(custom.CUSTOM_MANIFEST, document, RULES, placeholders);
  const described = value === undefined ? null : custom.describeRobot(value, findings);
  const found = [...mistakes, ...warnings, ...findings.mistakes];
  if (value === undefined || described === null) return finish(null, found);
  const { robot_type_id, display_name, status, configuration_files } = value;
  const contract = status === "draft" ? null : described.contract;
  const manifest = { robot_type_id, display_name, status, configuration_files, ...described, form: "custom" as const };
  return finish({ ...manifest, contract }, found);
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
function checkIdentity(robotTypeId: string, findings: FindingList, catalog: Catalog): void {
  if (catalog.get(robotTypeId)?.hosted === true) return;
  const meant = catalog.has(robotTypeId) ? undefined : nearest(robotTypeId, catalog.keys());
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  const message = `${robotTypeId} is not a known hosted type; the service may refuse it${hint}`;
  findings.warning("type_id_unlisted", ["robot_type_id"], message);
}
