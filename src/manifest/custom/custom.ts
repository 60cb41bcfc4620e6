/**
 * Custom robot types: a manifest that describes its robot itself, or extends a catalog type, is normalized to a contract.
 *
 * shape.ts reads each key (stage 3 of the specification), robot.ts adds the base's values (4), fit.ts checks each group against its kind (5),
 * rules.ts checks values and the whole robot (6). A stage with an error is the last one. normalize.ts makes the contract.
 * Loaded for such manifests only: a robot of a catalog type boots without it.
 */
import { CATALOG_ROWS } from "../catalog/rows.ts";
import type { Fields } from "../../documents/fields.ts";
import type { FindingList } from "../../documents/finding-list.ts";
import { readKeys } from "../../documents/keys.ts";
import { below, type Path, pointer } from "../../documents/pointer.ts";
import type { Body, Camera, Spot } from "./body.ts";
import type { ActionAxis, Contract } from "./contract.ts";
import { checkFit } from "./fit.ts";
import { isInherited, spotOfKey } from "./group.ts";
import { normalize } from "./normalize.ts";
import { type CompleteGroup, completeRobot, type Robot, type TypeId } from "./robot.ts";
import { checkRules } from "./rules.ts";
import { BODY } from "./shape.ts";

/** Stage 3: reads the body keys. */
export function readCustomBody(fields: Fields): Body {
  return readKeys(fields, BODY);
}

interface CustomType {
  readonly type_id: TypeId;
  readonly display_name: string | null;
  readonly body: Body;
  /** The document's own mapping. */
  readonly root: Spot;
}

interface DescribedRobot {
  readonly contract: Contract;
  /** The extended type, where the unit of an arm is from it. */
  readonly unit_from: string | null;
  /** JSON Pointer to what determines the part at `path`: `/extends` for values of the base, the root where nothing nearer is known. */
  contractSource(path: ContractPath): string;
}

/** Stages 4 to 6 and the contract; null when a finding is an error. */
export function describeRobot(
  { type_id: typeId, display_name: displayName, body, root }: CustomType,
  findings: FindingList,
): DescribedRobot | null {
  const robot = completeRobot(typeId, body, root, CATALOG_ROWS, findings);
  if (robot === undefined || findings.hasError) return null;
  checkFit(robot, findings);
  if (findings.hasError) return null;
  checkRules(robot, findings);
  if (findings.hasError) return null;
  const contract = normalize(robot, displayName);
  if (!isFinite(contract)) {
    const { path, offset } = robot.groups;
    const message =
      "numbers this small leave nothing of others, or make them too large: look at limits, apertures and the rate";
    findings.error("not_finite", path, offset, message);
    return null;
  }
  const isUnitInherited = robot.groups.value.some(
    ({ kind, unit }) => kind.value === "arm" && unit !== undefined && isInherited(unit),
  );
  return {
    contract,
    unit_from: isUnitInherited ? (robot.base_id ?? null) : null,
    contractSource: (path) => pointer(sourceOf(robot, contract, path)),
  };
}

/** A tiny rate or aperture makes a quotient infinite, and a tiny value rounds to 0. JSON cannot carry an infinite number. */
function isFinite({ state_axes: stateAxes, action_axes: actionAxes }: Contract): boolean {
  const axes: readonly ActionAxis[] = [...stateAxes, ...actionAxes];
  return axes.every(
    ({ range: [low, high] = [0, 1], native, max_step: maxStep = 1 }) =>
      [low, high, native?.scale ?? 1, native?.offset ?? 0, maxStep].every(Number.isFinite) &&
      low < high &&
      native?.scale !== 0 &&
      maxStep > 0,
  );
}

/** A path into the contract, as a service reports it in a 422. Untrusted: it may lead nowhere. */
type ContractPath = readonly (string | number)[];

function sourceOf(robot: Robot, contract: Contract, [member, index, key]: ContractPath): Path {
  switch (member) {
    case "robot_type_id":
    case "display_name":
      return below(null, member);
    case "topology":
    case "action_semantics":
    case "gripper":
    case "control_rate_hz":
      return robot[member]?.path ?? below(null, member);
    case "groups":
      return groupSource(robot.groups.value[Number(index)], key) ?? robot.groups.path;
    case "cameras":
      return cameraSource(robot.cameras[Number(index)], key) ?? below(null, member);
    case "state_axes":
    case "action_axes": {
      const name = contract[member][Number(index)]?.name.split(".")[0];
      const group = robot.groups.value.find((group) => group.name.value === name);
      return groupSource(group, AXIS_KEYS.get(key)) ?? robot.groups.path;
    }
    default:
      return null;
  }
}

const GROUP_KEYS = ["name", "kind", "side", "zero", "frame", "rotation", "unit", "limits"] as const;
type Step = ContractPath[number] | undefined;

/** The group's key that determines a member of its axes. */
const AXIS_KEYS: ReadonlyMap<Step, (typeof GROUP_KEYS)[number]> = new Map<Step, (typeof GROUP_KEYS)[number]>([
  ["name", "name"],
  ["unit", "unit"],
  ["native", "unit"],
  ["range", "limits"],
  ["max_step", "limits"],
]);

function groupSource(group: CompleteGroup | undefined, step: Step): Path | undefined {
  if (group === undefined) return undefined;
  const key = GROUP_KEYS.find((key) => key === step);
  return key === undefined ? group.path : spotOfKey(group, key, group[key]).path;
}

function cameraSource(camera: Camera | undefined, step: Step): Path | undefined {
  if (camera === undefined) return undefined;
  return step === undefined ? camera.path : spotOfKey(camera, String(step), undefined).path;
}
