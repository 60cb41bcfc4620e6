/** What `init` is told of a robot, the two files that follow from it, and what their readers find wrong. */
import { isAbsolute, resolve } from "node:path";

import { isError } from "../../documents/findings.ts";
import { type JointUnit, lerobotUnit, READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { type CatalogRow, CATALOG_ROWS } from "../../manifest/catalog/rows.ts";
import { FILE_COUNT } from "../../manifest/configuration-files.ts";
import { readManifest } from "../../manifest/manifest.ts";
import { readConfiguration } from "../configuration/configuration.ts";
import { DEFAULTS } from "../configuration/keys.ts";
import type { GroupRanges } from "./detect/detection.ts";
import { type ConfigurationValues, configurationText, manifestText } from "./texts.ts";

/** Values of the two files. null leaves a placeholder, or the default where there is one. */
export interface Answers extends Omit<ConfigurationValues, "name" | "hasHomePaths"> {
  /** Template of the robot's name. */
  readonly name: string | null;
  readonly type: string | null;
  /** What the joints of a LeRobot robot are in. */
  readonly unit: JointUnit | null;
  /** Whether the manifest is to extend the type. */
  readonly isExtended: boolean;
  /** In digest order. */
  readonly files: readonly string[];
  /** Entries of devices, as the manifest has them. */
  readonly devices: readonly string[];
  /** How far the joints of a LeRobot arm go, from its calibration: the limits of a manifest that extends a type. */
  readonly ranges: readonly GroupRanges[];
}

const HINT = "Written by robot-policy-agent init. After an edit: robot-policy-agent check";

/** The texts of the two files that these answers give, and what `check` would say about them. */
export async function documentsOf(answers: Answers) {
  const { name, type: robotTypeId, unit, files: paths, ranges } = answers;
  const devices = answers.devices.slice(0, FILE_COUNT.maximum - paths.length);
  const hasHomePaths = paths.some((path) => path.startsWith("~/"));
  const configuration = configurationText({ ...answers, name: name ?? DEFAULTS.robot.name, hasHomePaths }, HINT);
  const base = baseOf(answers);
  const manifest = manifestText({ robotTypeId, base, unit, files: paths.map(absolute), devices, ranges }, HINT);
  // The manifest's default path follows from this one, and is right by construction.
  const { findings, value } = readConfiguration(Buffer.from(configuration), "/config.yaml");
  const { findings: ofManifest } = await readManifest(Buffer.from(manifest));
  return { configuration, manifest, service: value?.service ?? null, findings: [...findings, ...ofManifest] };
}

/** Extends the type with --extend, when the type is not known to be hosted, and for joints in another unit than its own. */
function baseOf({ type, unit, isExtended }: Answers): CatalogRow | null {
  const isOwn = isExtended || unit === "calibrated_range" || READY_CATALOG.get(type ?? "")?.hosted === false;
  return isOwn ? (CATALOG_ROWS.find(({ robot_type_id: id }) => id === type) ?? null) : null;
}

/** The flag of `init` for each value in the two files. */
const FLAGS = [
  ["/service/url", "--url"],
  ["/service/ca_file", "--ca-file"],
  ["/service/key_file", "--key-file"],
  ["/service/proxy", "--proxy"],
  ["/service/enrolment_key_file", "--enrolment-key"],
  ["/robot/region", "--region"],
  ["/robot/name", "--name"],
  ["/robot/site", "--site"],
  ["/robot/labels", "--label"],
  ["/robot_type_id", "--type"],
  ["/configuration_files", "--file"],
] as const;

export interface WrongAnswer {
  readonly flag: string;
  /** The id of the finding. */
  readonly id: string;
  readonly what: string;
}

/** What is wrong with the answers that were given, by the readers of the files. */
export async function wrongAnswers(answers: Answers): Promise<readonly WrongAnswer[]> {
  const { findings } = await documentsOf(answers);
  return findings
    .filter((finding) => isError(finding) && finding.id !== "placeholder")
    .map(({ loc, id, message }) => ({
      flag: FLAGS.find(([place]) => loc.startsWith(place))?.[1] ?? loc,
      id,
      what: message,
    }));
}

/** Whether no value is left that the two files need. */
export function isComplete({ url, region, type, files }: Answers): boolean {
  return url !== null && region !== null && type !== null && files.length > 0;
}

/** Whether the manifest is of the type itself, whose limits are not those of this arm. */
export function hasOtherLimits(answers: Answers): boolean {
  return answers.ranges.length > 0 && answers.unit === "deg" && answers.type !== null && baseOf(answers) === null;
}

/** Whether the unit of the joints is still open, which only some types leave open. */
export function isUnitOpen({ type, unit }: Answers): boolean {
  return type !== null && unit === null && lerobotUnit(type) !== null;
}

/** Keeps `~/`, which refers to `robot.home` in the configuration. */
export function absolute(path: string): string {
  return isAbsolute(path) || path.startsWith("~/") ? path : resolve(path);
}
