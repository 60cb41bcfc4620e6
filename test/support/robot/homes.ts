/** Homes of robots, laid out as their projects do it (src/agent/init/detect names them), with contents of our own. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { onTestFinished } from "vitest";

/** Content by path: in the home, or below a root folder of the test for `/…`; a folder for a path that ends in a slash. */
export type Layout = Readonly<Record<string, string>>;

export interface Home {
  readonly home: string;
  /** In place of "/". */
  readonly root: string;
}

/** Each file is a minute older than the one before. */
export function robotHome(layout: Layout): Home {
  // Not in memory: a manifest lists no files below /dev.
  const root = mkdtempSync(join(tmpdir(), "home-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, "home/pat");
  mkdirSync(home, { recursive: true });
  const newestS = Date.UTC(2026, 10, 1) / 1000;
  for (const [index, [path, content]] of Object.entries(layout).entries()) {
    const file = path.startsWith("/") ? join(root, path) : join(home, path);
    mkdirSync(path.endsWith("/") ? file : dirname(file), { recursive: true });
    if (path.endsWith("/")) continue;
    writeFileSync(file, content);
    utimesSync(file, newestS - index * 60, newestS - index * 60);
  }
  return { home, root };
}

const SO101_JOINTS = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"];

/** A calibration of LeRobot since June 2025. @param prefix of the joints. */
export function lerobotCalibration(prefix: string = "", middle: number = 2047): string {
  const motors = SO101_JOINTS.map((joint, index) => {
    const half = joint === "wrist_roll" ? null : 900 + index * 100;
    const range = half === null ? [0, 4095] : [middle - half, middle + half];
    const motor = { id: index + 1, drive_mode: 0, homing_offset: 17, range_min: range[0], range_max: range[1] };
    return [`${prefix}${joint}`, motor] as const;
  });
  return JSON.stringify(Object.fromEntries(motors), null, 4);
}

/** The same before June 2025. */
export const OLD_LEROBOT_CALIBRATION = JSON.stringify({
  homing_offset: [-2048, 3072, 1024, -2048, 1024, -2048],
  drive_mode: [0, 1, 0, 0, 1, 0],
  start_pos: [2048, 3072, 1024, 2048, 1024, 2048],
  end_pos: [3072, -2048, 0, 3072, 0, 3072],
  calib_mode: ["DEGREE", "DEGREE", "DEGREE", "DEGREE", "DEGREE", "LINEAR"],
  motor_names: SO101_JOINTS,
});

/** What ur_calibration writes, for an arm of these lengths in m. */
export function urCalibration(shoulder: number, upperArm: number): string {
  return `kinematics:
  shoulder:
    x: 0
    y: 0
    z: ${shoulder}
  forearm:
    x: ${-upperArm}
    y: 0
    z: 0
  hash: calib_12345678901234567890
`;
}
