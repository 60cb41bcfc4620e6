/** The way back from a contract: which part of the manifest decides a part of it. */
import type { Path } from "../path.ts";
import { below, pointer } from "../path.ts";
import type { Camera } from "./body.ts";
import type { Contract } from "./contract.ts";
import { spotOfKey } from "./group.ts";
import type { CompleteGroup, Robot } from "./robot.ts";

/** Steps from the contract inwards, as a service names what it refuses; nothing is known of what they are. */
export type ContractPath = readonly (string | number)[];

/** @returns a JSON Pointer into the manifest as written, the root where nothing nearer is known; `/extends` for what the base says. */
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

/** The key of a group that decides a member of its axes. */
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
