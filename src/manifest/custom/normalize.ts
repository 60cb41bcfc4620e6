/** Normalizes a checked robot to its contract: SPEC sections 7 and 8. */
import { CONTRACT_SCHEMA } from "../../api/robot-terms.ts";
import type { Camera } from "./shape.ts";
import type { Contract } from "./contract.ts";
import { commandedGrippers, sideOf } from "./group.ts";
import type { CompleteGroup, Robot } from "./robot.ts";
import { rounded } from "./units.ts";
import { vectorsOf } from "./vectors.ts";

/** The same robot gives the same contract, whatever the spelling of its manifest. */
export function normalize(robot: Robot, displayName: string | null): Contract {
  const actionSemantics = robot.action_semantics;
  const controlRateHz = robot.control_rate_hz;
  const axes = robot.groups.map((group) =>
    vectorsOf(group, { action_semantics: actionSemantics, control_rate_hz: controlRateHz }),
  );
  return {
    schema: CONTRACT_SCHEMA,
    robot_type_id: robot.robot_type_id,
    ...(displayName === null ? {} : { display_name: displayName }),
    topology: robot.topology,
    action_semantics: actionSemantics,
    gripper: robot.gripper ?? (commandedGrippers(robot).length > 0 ? "continuous" : "none"),
    control_rate_hz: rounded(controlRateHz),
    groups: robot.groups.map(groupView),
    state_axes: axes.flatMap(({ state }) => state),
    action_axes: axes.flatMap(({ action }) => action),
    cameras: robot.cameras.map(cameraView),
  };
}

function groupView(group: CompleteGroup): Contract["groups"][number] {
  const { name, kind, zero, frame, rotation, rotation_frame: rotationFrame } = group;
  const side = sideOf(group);
  return {
    name,
    kind,
    ...(side === "none" ? {} : { side }),
    ...(zero === undefined ? {} : { zero }),
    ...(frame === undefined ? {} : { frame }),
    ...(rotation === undefined ? {} : { rotation }),
    ...(rotationFrame === undefined ? {} : { rotation_frame: rotationFrame }),
  };
}

function cameraView({ role, mount, side, fps, ...camera }: Camera): Contract["cameras"][number] {
  const { width, height, rotation_degrees: rotationDegrees, color_space: colorSpace, pixel_dtype: pixelDtype } = camera;
  const on = mount === "wrist" ? sideOf({ name: role, side }) : "none";
  return {
    role,
    mount,
    ...(on === "none" ? {} : { side: on }),
    width: rounded(width),
    height: rounded(height),
    fps: rounded(fps),
    rotation_degrees: rotationDegrees,
    color_space: colorSpace,
    pixel_dtype: pixelDtype,
  };
}
