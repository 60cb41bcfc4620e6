import { dirname, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { eachOf, givenTexts, ROBOT_TEXT_NAMES, type RobotTextName } from "../../api/robot-texts.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../../api/robots.ts";
import { formed, list, OF_MAPPING, refuse } from "../../documents/schemas.ts";
import { shown } from "../../documents/texts.ts";
import { defined } from "../../platform/defined.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import { readWritten } from "../files/given-file.ts";
import { labelMapping, words } from "../files/written-readers.ts";
import type { OperatorFlags } from "../flags.ts";
import { readLabels } from "../fleets/selection-flags.ts";
import { refuseFlags } from "../refuse.ts";
import type { RegisteredRobot } from "./find.ts";
import { clearedTexts, TEXT_FLAGS, type TextFlags } from "./text-flags.ts";
import { labelsText, shortDigest } from "./words.ts";

/** Same limit as in the agent's manifest. */
const FILES_COUNT = { minimum: 0, maximum: 64 } as const;

/** A registration file for a robot without an agent. Flags may add what it leaves out. */
export interface WrittenRegistration extends Partial<Omit<RegistrationBody, "contract">> {
  /** Absolute, in digest order. */
  readonly configurationFiles?: readonly string[];
}

const HINTS: ReadonlyMap<string, string> = new Map([
  ["type", "did you mean robot_type_id?"],
  ["robot_type", "did you mean robot_type_id?"],
  ["digest", "did you mean configuration_digest?"],
  ["files", "did you mean configuration_files?"],
  ["contract", "name the robot manifest it is made of: --manifest FILE"],
]);

/** Reads the registration file at `path`. Reports all findings. */
export function readRegistrationFile(path: string, json: boolean, context: OperatorContext) {
  const rules = { subject: "registration", schema: registrationFile(path), hints: HINTS, json } as const;
  return readWritten(path, rules, context);
}

const digest = formed("digest_format", (written) =>
  CONFIGURATION_DIGEST_PATTERN.test(written)
    ? undefined
    : `${shown(written)} is not a digest: expected sha256: and 64 hexadecimal digits`,
);

/** @param path of the file; paths in it are relative to its folder. */
function registrationFile(path: string) {
  const folder = dirname(resolve(path));
  return z
    .object({
      name: words.optional(),
      robot_type_id: words.optional(),
      region: words.optional(),
      labels: labelMapping.optional(),
      configuration_digest: digest.optional(),
      configuration_files: list(FILES_COUNT, words).optional(),
      ...eachOf(ROBOT_TEXT_NAMES, () => words.optional()),
    })
    .superRefine(({ configuration_digest: given, configuration_files: files }, ctx) => {
      if (given === undefined || files === undefined) return;
      const message = "configuration_digest and configuration_files are both set; leave one of them out";
      refuse(ctx, { id: "conflict", message });
    }, OF_MAPPING)
    .transform(({ configuration_files: files, ...members }): WrittenRegistration =>
      defined({ ...members, configurationFiles: files?.map((file) => resolve(folder, file)) }),
    );
}

/** @returns null after reporting what is wrong with the flags. */
export function readRegistrationFlags(flags: OperatorFlags, terminal: Terminal): WrittenRegistration | null {
  const { name, type, region, label, file, configurationDigest: digest } = flags;
  const labels = label === undefined ? undefined : readLabels(label, terminal);
  if (labels === null) return null;
  if (digest !== undefined && !CONFIGURATION_DIGEST_PATTERN.test(digest)) {
    const fix = "it is sha256: and 64 digits from 0 to f, as the agent's digest prints it";
    return refuseFlags(`--configuration-digest '${digest}' is not a digest`, fix, terminal);
  }
  return {
    ...givenTexts((text) => flags[TEXT_FLAGS[text].given]),
    ...defined({ name, robot_type_id: type, region, labels, configuration_digest: digest, configurationFiles: file }),
  };
}

/** The body of `POST /v1/robots/setup`. */
export interface RegistrationBody extends Readonly<Partial<Record<RobotTextName, string>>> {
  readonly name: string;
  readonly robot_type_id: string;
  readonly region: string;
  readonly configuration_digest: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly contract?: object;
}

/** A registration of which the robot may keep some members. */
export type GivenRegistration = Pick<RegistrationBody, "name"> & Partial<RegistrationBody>;

/** A robot keeps no texts or labels that are cleared. With a manifest, the contract comes from it, or there is none. */
type CarryOverFlags = TextFlags & Pick<OperatorFlags, "clearLabels" | "manifest">;

/**
 * Adds what the robot keeps if it is not given again: type, region, digest, texts and labels, and if its type stays the same, the contract.
 * The service itself replaces the whole registration.
 */
export function carryOver(body: GivenRegistration, before: RegisteredRobot, flags: CarryOverFlags): GivenRegistration {
  const { labels, contract, robot_type_id: robotTypeId, region, configuration_digest: digest } = before;
  const cleared = clearedTexts(flags);
  const keepsContract = flags.manifest === undefined && (body.robot_type_id ?? robotTypeId) === robotTypeId;
  return {
    robot_type_id: robotTypeId,
    region,
    ...defined({ configuration_digest: digest }),
    ...givenTexts((text) => (cleared.includes(text) ? null : before[text])),
    ...defined({
      labels: flags.clearLabels === true || Object.keys(labels).length === 0 ? undefined : labels,
      contract: keepsContract ? (contract ?? undefined) : undefined,
    }),
    ...body,
  };
}

/** What changes, or may change, one line each; empty where nothing changes. */
export function changeLines(body: RegistrationBody, before: RegisteredRobot): readonly string[] {
  return differences([
    ["type", before.robot_type_id, body.robot_type_id],
    ["region", before.region, body.region],
    ...ROBOT_TEXT_NAMES.map((text) => [text, before[text] ?? "none", body[text] ?? "none"] as const),
    ["labels", labelsOf(before), labelsOf(body)],
    [
      "digest",
      before.configuration_digest === undefined ? NOT_SHOWN : shortDigest(before.configuration_digest),
      shortDigest(body.configuration_digest),
    ],
    ["contract", ...contractChange(before.contract, body.contract ?? null)],
  ]);
}

/** The rows with two values that differ, one line each. */
export function differences(rows: readonly (readonly [name: string, old: string, now: string])[]): readonly string[] {
  return rows
    .filter(([, old, now]) => old !== now)
    .map(([name, old, now]) => `${name.padEnd(WIDEST)}  ${old} → ${now}`);
}

/** What the robot keeps, for the middle of a sentence; empty for nothing. */
export function keptText(given: GivenRegistration, body: RegistrationBody): string {
  const kept = [
    ...ROBOT_TEXT_NAMES.map((text) => (body[text] === given[text] ? "" : `${text} ${body[text] ?? ""}`)),
    body.labels === given.labels ? "" : `labels ${labelsOf(body)}`,
    body.contract === given.contract ? "" : "its contract",
    body.configuration_digest === given.configuration_digest ? "" : "its digest",
  ];
  return kept.filter((each) => each !== "").join(", ");
}

/** A service with only the documented operations shows neither digest nor contract. */
const NOT_SHOWN = "not shown";

const WIDEST = "contract".length;

function labelsOf({ labels }: Pick<RegistrationBody, "labels">): string {
  const text = labelsText({ labels: labels ?? {} });
  return text === "" ? "none" : text;
}

/** Contracts are too long to show in a line. */
function contractChange(before: object | null | undefined, now: object | null): readonly [string, string] {
  // Compare what is sent: JSON drops undefined members.
  if (isDeepStrictEqual(before, JSON.parse(JSON.stringify(now)))) return ["", ""];
  const after = now === null ? "none" : "from the manifest";
  if (before === undefined) return [NOT_SHOWN, after];
  return [before === null ? "none" : "as registered", after];
}
