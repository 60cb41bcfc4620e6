import { isDeepStrictEqual } from "node:util";
import {
  givenTexts,
  ROBOT_TEXT_NAMES,
  type RobotTextName,
  REGION_EXPECTED,
  REGION_FORM,
} from "../../api/robot-texts.ts";
import { defined } from "../../platform/defined.ts";
import { labelTexts } from "../../views/view.ts";
import { shortDigest } from "../lists/shown.ts";
import type { RegisteredRobot } from "./find.ts";
import { beyondSpec } from "../../api/api.ts";
import type { RegistrationView } from "../../api/registrations.ts";
import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { nearest } from "../../documents/nearest.ts";
import { holdsCredentials } from "../../documents/secrets.ts";
import { shown } from "../../documents/texts.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { Service } from "../service.ts";

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

/** A robot keeps no site or labels that are cleared. With a manifest, the contract comes from it, or there is none. */
interface CarryOverFlags {
  readonly clearSite?: boolean | undefined;
  readonly clearLabels?: boolean | undefined;
  readonly manifest?: string | undefined;
}

/**
 * Adds what the robot keeps if it is not given again: type, region, digest, texts and labels, and if its type stays the same, the contract.
 * The service itself replaces the whole registration.
 */
export function carryOver(body: GivenRegistration, before: RegisteredRobot, flags: CarryOverFlags): GivenRegistration {
  const { labels, contract, robot_type_id: robotTypeId, region, configuration_digest: digest } = before;
  const keepsContract = flags.manifest === undefined && (body.robot_type_id ?? robotTypeId) === robotTypeId;
  return {
    robot_type_id: robotTypeId,
    region,
    ...defined({ configuration_digest: digest }),
    ...(flags.clearSite === true ? {} : givenTexts((text) => before[text])),
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

/** A service with only the documented operations shows neither digest nor contract. */
const NOT_SHOWN = "not shown";

const WIDEST = "contract".length;

function labelsOf({ labels }: Pick<RegistrationBody, "labels">): string {
  return labelTexts(labels ?? {}).join(" ") || "none";
}

/** Contracts are too long to show in a line. */
function contractChange(before: object | null | undefined, now: object | null): readonly [string, string] {
  // Compare what is sent: JSON drops undefined members.
  if (isDeepStrictEqual(before, JSON.parse(JSON.stringify(now)))) return ["", ""];
  const after = now === null ? "none" : "from the manifest";
  if (before === undefined) return [NOT_SHOWN, after];
  return [before === null ? "none" : "as registered", after];
}

/** Mistakes that the service would accept. */
export function registrationMistake(body: GivenRegistration) {
  const { region, name, labels } = body;
  if (region !== undefined && !REGION_FORM.test(region))
    return { member: "region", message: `expected ${REGION_EXPECTED}` };
  const texts = givenTexts((text) => body[text]);
  const members = Object.entries({ name, ...texts, labels: Object.values(labels ?? {}).join(" ") });
  const [member] = members.find(([, text]) => holdsCredentials(text)) ?? [];
  const message = "it holds an address with a user name or password";
  return member === undefined ? null : { member, message };
}

/** A mistyped robot type makes a robot that no model fits. */
export function warnOfType(
  { robot_type_id: robotTypeId, contract }: Pick<RegistrationView, "robot_type_id" | "contract"> | RegistrationBody,
  terminal: Terminal,
): void {
  if ((contract ?? null) !== null || READY_CATALOG.has(robotTypeId)) return;
  const hint = hintAt(robotTypeId, READY_CATALOG.keys());
  terminal.warning(`${robotTypeId} is not in the robot type catalog and has no contract${hint}.`);
  terminal.note("  Its cameras and axes stay unknown; a robot manifest describes them.");
}

/**
 * Warns that the service has no inference endpoint in this region, so that no model can serve a robot there. Says nothing where the service
 * does not show its regions, or fails: the command must not fail for a warning.
 */
export async function warnOfRegion(service: Service, region: string, terminal: Terminal): Promise<void> {
  const regions = await loadRegions(service);
  if (regions.length === 0 || regions.includes(region)) return;
  terminal.warning(`no endpoint is in the region ${shown(region)}${hintAt(region, regions)}.`);
}

async function loadRegions(service: Service): Promise<readonly string[]> {
  const result = await service.call(beyondSpec.listRegions, {});
  return result.kind === "ok" ? result.value.value.regions : [];
}

function hintAt(written: string, words: Iterable<string>): string {
  const meant = nearest(written, words);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}
