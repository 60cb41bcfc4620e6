import { hash } from "node:crypto";

import { shown } from "../../documents/texts.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { type Axis, knownEquipment, parseEquipment, readContent } from "../robots/index.ts";
import { type AxesRequirement, parseRequirements, type Requirements } from "./requirements.ts";
import { type Deviation, deviationsOf, type RobotTraits, withContent, wordDeviation } from "./training.ts";

/** A robot to check, or one that represents all with its type and equipment. */
export interface JudgedRobot extends Pick<Tables["robots"], "robot_type_id" | "equipment_sha256"> {
  readonly robot_id: string;
}

/** Characters of equipment that are processed before the event loop gets a turn. */
const LARGE_EQUIPMENT = 16_384;
/** Maximum number of cached verdicts, of a few hundred bytes each; the oldest are evicted. */
const VERDICTS_MAXIMUM = 100_000;

/**
 * Shared by all stores of the process: a verdict depends only on its key. Every evaluation of fleets and deployments needs verdicts;
 * for a thousand robots with different equipment they take 0.2 s without the cache, 1 ms with it.
 */
const remembered = new Map<string, Verdict>();

/** Whether a checkpoint fits a robot: predicates with the model as their subject. */
export interface Verdict {
  /** Why it cannot drive the robot; null if it can. */
  readonly obstacle: string | null;
  /** How the robot differs from those that it was trained on, as far as the catalog has it said. */
  readonly warnings: readonly string[];
}

/** Maximum number of warnings about a robot. */
const WARNINGS_MAXIMUM = 8;

/**
 * Whether a checkpoint fits these robots, in their order.
 *
 * Robots with equal type and equipment are checked once. Equipment is read one at a time, because it may be as large as a request.
 *
 * @param requirements JSON text from the row of the checkpoint.
 */
export async function findVerdicts(
  reader: Reader,
  robots: readonly JudgedRobot[],
  requirements: string,
): Promise<readonly Verdict[]> {
  const digest = hash("sha256", requirements, "base64");
  let parsed: Requirements | null = null;
  let processed = 0;
  const verdicts: Verdict[] = [];
  for (const { robot_id: robotId, robot_type_id: robotTypeId, equipment_sha256: equipmentSha256 } of robots) {
    const key = JSON.stringify([robotTypeId, equipmentSha256, digest]);
    let verdict = remembered.get(key);
    if (verdict === undefined) {
      const row = equipmentSha256 === null ? null : await findEquipment(reader, robotId);
      const equipment = row === null || row.equipment === null ? null : parseEquipment(row.equipment);
      parsed ??= parseRequirements(requirements);
      const judged = judgeRobot({ robot_type_id: robotTypeId, equipment }, parsed);
      const organizationId = row?.organization_id ?? "";
      const blockers = await withFiles(reader, organizationId, judged.blockers);
      const warnings = await withFiles(reader, organizationId, judged.warnings);
      verdict = wordVerdict({ ...judged, blockers, warnings });
      const isFinal = [...blockers, ...warnings].every(({ part }) => part === null);
      // Otherwise the robot has meanwhile registered with other equipment.
      if (isFinal && equipmentSha256 === (row?.equipment_sha256 ?? null)) remember(key, verdict);
      processed += row?.equipment?.length ?? 0;
      if (processed > LARGE_EQUIPMENT) {
        processed = 0;
        await yieldEventLoop();
      }
    }
    verdicts.push(verdict);
  }
  return verdicts;
}

/** The same for one robot. */
export async function findVerdict(reader: Reader, robot: JudgedRobot, requirements: string): Promise<Verdict> {
  const [verdict = FITS] = await findVerdicts(reader, [robot], requirements);
  return verdict;
}

/** The member of a view: sentences about the subject; absent without one. */
export function warningsOf(subject: string, warnings: readonly string[]): { readonly warnings?: string[] } {
  if (warnings.length === 0) return {};
  return { warnings: warnings.map((warning) => `${shown(subject)} ${warning}.`) };
}

const FITS: Verdict = { obstacle: null, warnings: [] };

/** A verdict before it is put into words. */
export interface Judged {
  /** What the robot lacks of what is required of any robot; null for nothing. */
  readonly lack: string | null;
  /** The first difference that refuses it, or none, and the number of others. */
  readonly blockers: readonly Deviation[];
  readonly otherBlockers: number;
  readonly warnings: readonly Deviation[];
}

export function judgeRobot(robot: RobotTraits, requirements: Requirements): Judged {
  const lack = incompatibility(robot, requirements);
  const { trained_on: training } = requirements;
  if (training === undefined) return { lack, blockers: [], otherBlockers: 0, warnings: [] };
  const { blockers, warnings } = deviationsOf(robot, training);
  const otherBlockers = Math.max(0, blockers.length - 1);
  return { lack, blockers: blockers.slice(0, 1), otherBlockers, warnings: warnings.slice(0, WARNINGS_MAXIMUM) };
}

export function wordVerdict({ lack, blockers, otherBlockers, warnings }: Judged): Verdict {
  const noun = otherBlockers === 1 ? "difference" : "differences";
  const more = otherBlockers === 0 ? "" : ` (and ${otherBlockers} more ${noun})`;
  const [difference = null] = blockers.map((blocker) => `${wordDeviation(blocker)}${more}`);
  return { obstacle: lack ?? difference, warnings: warnings.map(wordDeviation) };
}

/** The same with what differs in files. `part` stays where the robot may yet send what is in one: it does so after it said which it has. */
async function withFiles(
  reader: Reader,
  organizationId: string,
  deviations: readonly Deviation[],
): Promise<readonly Deviation[]> {
  const filled: Deviation[] = [];
  for (const deviation of deviations) {
    const { before = null, after = null } = deviation.part ?? {};
    const now = after === null ? null : await readContent(reader, organizationId, after);
    const then = now === null || before === null ? null : await readContent(reader, organizationId, before);
    filled.push(now === null ? deviation : withContent(deviation, then, now));
    await yieldEventLoop();
  }
  return filled;
}

function findEquipment(reader: Reader, robotId: string) {
  return reader
    .selectFrom("robots")
    .select(["organization_id", "equipment", "equipment_sha256"])
    .where("id", "=", robotId)
    .executeTakeFirstOrThrow();
}

function remember(key: string, verdict: Verdict): void {
  const [oldest] = remembered.keys();
  if (oldest !== undefined && remembered.size >= VERDICTS_MAXIMUM) remembered.delete(oldest);
  remembered.set(key, verdict);
}

/** Maximum number of names in a sentence; of the others it gives only the number. */
const LISTED_NAMES = 8;

/**
 * Why a checkpoint cannot drive a robot, or null if it can.
 *
 * Requirements are compared with the robot's contract, or, without one, with its type in the ready catalog. What is unknown, such as
 * the cameras of a type whose installer chooses them, counts as satisfied.
 *
 * @returns one sentence for a person that names what is missing: type, else cameras, else axes. Its length is bounded for every
 * contract.
 */
export function incompatibility(robot: RobotTraits, requirements: Requirements): string | null {
  const { robot_type_id: robotTypeId } = robot;
  const equipment = knownEquipment(robotTypeId, robot.equipment);
  return (
    lackOfType(robotTypeId, requirements.robot_types) ??
    lackOfCameras(equipment.camera_roles, requirements.camera_roles) ??
    lackOfAxes("state", equipment.state_axes, requirements.state_axes) ??
    lackOfAxes("action", equipment.action_axes, requirements.action_axes)
  );
}

function lackOfType(robotTypeId: string, accepted: readonly string[]): string | null {
  if (accepted.length === 0 || accepted.includes(robotTypeId)) return null;
  return `needs a robot of type ${list(accepted, "or")}; the robot is ${shown(robotTypeId)}`;
}

function lackOfCameras(present: readonly string[] | null, needed: readonly string[]): string | null {
  if (present === null || needed.length === 0) return null;
  const roles = new Set(present);
  const missing = needed.filter((role) => !roles.has(role));
  if (missing.length === 0) return null;
  const wanted = missing.length === 1 ? "a camera with role" : "cameras with roles";
  return `needs ${wanted} ${list(missing, "and")}; the robot has ${present.length === 0 ? "none" : list(present)}`;
}

function lackOfAxes(vector: "state" | "action", axes: readonly Axis[] | null, needed: AxesRequirement | null) {
  if (axes === null || needed === null) return null;
  return (
    lackOfCount(vector, axes.length, needed) ?? lackOfNames(vector, axes, needed) ?? lackOfUnits(vector, axes, needed)
  );
}

function lackOfCount(
  vector: string,
  count: number,
  { minimum_count: minimumCount, maximum_count: maximumCount }: AxesRequirement,
): string | null {
  if (count >= minimumCount && (maximumCount === null || count <= maximumCount)) return null;
  const noun = minimumCount === 1 && maximumCount === 1 ? "axis" : "axes";
  return `needs ${describeCount(minimumCount, maximumCount)} ${vector} ${noun}; the robot has ${count}`;
}

function describeCount(minimum: number, maximum: number | null): string {
  if (maximum === null) return `at least ${minimum}`;
  if (minimum === maximum) return `${minimum}`;
  return minimum === 0 ? `at most ${maximum}` : `${minimum} to ${maximum}`;
}

function lackOfNames(vector: string, axes: readonly Axis[], { names }: AxesRequirement): string | null {
  const present = new Set(axes.map(({ name }) => name));
  const missing = names.filter((name) => !present.has(name));
  if (missing.length === 0) return null;
  const [noun, pronoun] = missing.length === 1 ? ["axis", "it"] : ["axes", "them"];
  return `needs the ${vector} ${noun} ${list(missing, "and")}; the robot does not have ${pronoun}`;
}

function lackOfUnits(vector: string, axes: readonly Axis[], { units }: AxesRequirement): string | null {
  if (units.length === 0) return null;
  const other = axes.find(({ unit }) => unit === null || !units.includes(unit));
  if (other === undefined) return null;
  const found = other.unit === null ? "names no unit" : `is in ${shown(other.unit)}`;
  return `needs ${vector} axes in ${list(units, "or")}; the robot's ${shown(other.name)} ${found}`;
}

/** `a, b and c`, or `a, b, c` without a word; long lists are cut. */
function list(names: readonly string[], word?: "and" | "or"): string {
  const listed = names.slice(0, LISTED_NAMES).map(shown);
  const more = names.length - listed.length;
  if (more > 0) return `${listed.join(", ")} and ${more} more`;
  const last = listed.at(-1) ?? "";
  if (word === undefined || listed.length < 2) return listed.join(", ");
  return `${listed.slice(0, -1).join(", ")} ${word} ${last}`;
}
