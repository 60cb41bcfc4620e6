/** Maps a part of a contract back to the part of the manifest that determines it. */
import type { Path } from "../path.ts";
import { below, pointer } from "../path.ts";
import type { Camera } from "./body.ts";
import type { Contract } from "./contract.ts";
import { spotOfKey } from "./group.ts";
import type { CompleteGroup, Robot } from "./robot.ts";

/** A path into the contract, as a service reports it in a 422. Untrusted: it may lead nowhere. */
export type ContractPath = readonly (string | number)[];

/** @returns a JSON Pointer into the manifest; the root where nothing nearer is known, `/extends` for values of the base. */
export function contractSource(robot: Robot, contract: Contract, path: ContractPath): string {
  return pointer(sourceOf(robot, contract, path));
}

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
