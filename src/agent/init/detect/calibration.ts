/** LeRobot's calibration files: which arm a folder is of, and what such a file says. */
import * as z from "zod";

import { parseJson } from "../../../platform/text/parse-json.ts";
import type { GroupRanges, JointRange } from "./detection.ts";

/** A kind of arm, or of a robot with one, that LeRobot calibrates. */
export interface Arm {
  /** The same for all names of one arm. */
  readonly key: string;
  readonly robot: string;
  /** The catalog's type; null for none. */
  readonly type: string | null;
  readonly differs?: string;
  /** What the names of the joints begin with; absent where the ranges of the file are not those of the arm. */
  readonly prefix?: string;
  /** Of two of these arms. */
  readonly pairType?: string;
}

const SO101: Arm = {
  key: "so101",
  robot: "SO-101 or SO-100 follower arm (LeRobot)",
  type: "lerobot.so101-follower.v1",
  prefix: "",
  pairType: "lerobot.bi-so101-follower.v1",
};
const LEKIWI: Arm = { key: "lekiwi", robot: "LeKiwi (LeRobot)", type: "lerobot.lekiwi.v1", prefix: "arm_" };
/** Writes 0 and 4095 for each joint: omx_follower.py. */
const OMX: Arm = {
  key: "omx",
  robot: "OMX follower arm (LeRobot)",
  type: SO101.type,
  differs: "the same six axes with limits of its own, in −100 to 100 unless LeRobot runs with use_degrees",
};
const KOCH: Arm = { ...OMX, key: "koch", robot: "Koch follower arm (LeRobot)", prefix: "" };
/** Writes −90 and 90 for each joint: openarm_follower.py. */
const OPENARM: Arm = { key: "openarm", robot: "OpenArm", type: null };

/**
 * By `name` of a class in huggingface/lerobot src/lerobot/robots: SO arms are `so_follower` since 0.4.3, whatever their `--robot.type`.
 * Names without `_follower` are folders of LeRobot before its redesign of June 2025 (pull request 777).
 */
const ARMS: ReadonlyMap<string, Arm> = new Map([
  ["so_follower", SO101],
  ["so101_follower", SO101],
  ["so100_follower", SO101],
  ["so100", SO101],
  ["lekiwi", LEKIWI],
  ["koch_follower", KOCH],
  ["koch", KOCH],
  ["koch_bimanual", KOCH],
  ["omx_follower", OMX],
  ["openarm_follower", OPENARM],
]);

/** Also of types of plugins, of which nothing but the name is known. Robots of two arms are `bi_` and the name of one of them. */
export function armOf(name: string): Arm {
  const single = name.replace(/^bi_/, "");
  return ARMS.get(single) ?? { key: single, robot: `${single} (LeRobot)`, type: null };
}

/** src/lerobot/motors/motors_bus.py, MotorCalibration. */
const motor = z.looseObject({ id: z.number(), range_min: z.number(), range_max: z.number() });
const current = z.record(z.string(), motor).refine((motors) => Object.keys(motors).length > 0);
/** Before June 2025. */
const old = z.looseObject({ homing_offset: z.array(z.number()), motor_names: z.array(z.string()) });

export type Motors = z.infer<typeof current>;
export type Calibration = { readonly kind: "current"; readonly motors: Motors } | { readonly kind: "old" | "other" };

export function readCalibration(text: string): Calibration {
  const value = parseJson(text);
  const motors = current.safeParse(value);
  if (motors.success) return { kind: "current", motors: motors.data };
  return { kind: old.safeParse(value).success ? "old" : "other" };
}

const JOINTS = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"];
/** A turn of the motors sts3215, xl430 and xl330 in counts, less one: tables.py of motors/feetech and motors/dynamixel. */
const LAST_COUNT = 4095;

/**
 * How far the joints go, as `_normalize` of motors_bus.py has it: degrees from the middle of the recorded range, or −100 to 100 over it,
 * whatever `drive_mode` and `homing_offset` say.
 *
 * @returns null where the file does not tell for each joint.
 */
export function rangesOf({ prefix }: Arm, calibration: Calibration, group: string): GroupRanges | null {
  if (prefix === undefined || calibration.kind !== "current") return null;
  const joints: JointRange[] = [];
  for (const joint of JOINTS) {
    const { range_min: low, range_max: high } = calibration.motors[`${prefix}${joint}`] ?? {
      range_min: 0,
      range_max: 0,
    };
    if (high <= low) return null;
    // Outwards, because positions at the ends are read with noise.
    const half = Math.ceil(((high - low) * 180 * 10) / LAST_COUNT) / 10;
    joints.push({ joint, deg: [-half, half], calibrated_range: [-100, 100] });
  }
  return { group, joints };
}
