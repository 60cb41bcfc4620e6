/** What people know of a catalog type besides its id: other names, the usual places of its files, LeRobot's unit. Data for `init` and `check`. */

export interface TypeHints {
  /** Names that people and other programs use; the display name is searched too. */
  readonly names: readonly string[];
  /** Usual places of the files that configure such a robot; words in capitals differ from robot to robot. */
  readonly files: readonly string[];
  /** Version of LeRobot since which the joints are in degrees by default; before, they were in −100 to 100. */
  readonly degrees_since?: string;
}

const LEROBOT = "~/.cache/huggingface/lerobot/calibration/robots";

export const TYPE_HINTS: ReadonlyMap<string, TypeHints> = new Map<string, TypeHints>([
  [
    "lerobot.so101-follower.v1",
    {
      names: ["so101_follower", "so100_follower", "so_follower", "SO-ARM100", "SO-ARM101"],
      files: [`${LEROBOT}/so_follower/ID.json`, `${LEROBOT}/so101_follower/ID.json`],
      degrees_since: "0.4.4",
    },
  ],
  [
    "lerobot.bi-so101-follower.v1",
    {
      names: ["bi_so_follower", "bi_so100_follower"],
      files: [`${LEROBOT}/so_follower/ID_left.json`, `${LEROBOT}/so_follower/ID_right.json`],
      degrees_since: "0.4.4",
    },
  ],
  ["lerobot.lekiwi.v1", { names: [], files: [`${LEROBOT}/lekiwi/ID.json`], degrees_since: "0.6.0" }],
  [
    "trossen.aloha-bimanual.v1",
    {
      names: ["ALOHA 2", "vx300s", "ViperX 300", "Interbotix"],
      files: [
        "~/interbotix_ws/src/aloha/config/puppet_modes_left.yaml",
        "~/interbotix_ws/src/aloha/config/puppet_modes_right.yaml",
        "~/interbotix_ws/src/aloha/launch/4arms_teleop.launch",
        "/etc/udev/rules.d/99-fixed-interbotix-udev.rules",
      ],
    },
  ],
  [
    "droid.franka-panda.v1",
    {
      names: ["Franka Emika Panda"],
      files: ["~/droid/config/panda/franka_hardware.yaml", "~/droid/droid/calibration/calibration_info.json"],
    },
  ],
  [
    "yam.bimanual-joint-position.v1",
    {
      names: ["i2rt"],
      files: [
        "/opt/yam/configs/yam_left.yaml",
        "/opt/yam/configs/yam_right.yaml",
        "/etc/udev/rules.d/90-yam-cameras.rules",
      ],
    },
  ],
  ["unitree.g1-dex3.v1", { names: ["Dex3"], files: ["~/xr_teleoperate/assets/g1/g1_body29_hand14.urdf"] }],
  ["unitree.g1-dex1.v1", { names: ["Dex1"], files: ["~/xr_teleoperate/assets/g1/g1_body29_hand14.urdf"] }],
  [
    "bridge.widowx-250.v1",
    {
      names: ["wx250s", "BridgeData"],
      files: ["~/interbotix_ws/src/bridge_data_robot/widowx_envs/experiments/bridge_data_v2/conf.py"],
    },
  ],
  ["ur.ur5e-2f85.v1", { names: ["Universal Robots"], files: ["~/my_robot_calibration.yaml"] }],
]);

/** Robots without a type of their own that are close to one. */
export const NEIGHBOURS: readonly {
  readonly names: readonly string[];
  readonly nearest: string;
  readonly differs: string;
}[] = [
  {
    names: ["koch", "koch_follower", "omx", "omx_follower"],
    nearest: "lerobot.so101-follower.v1",
    differs:
      "the same six axes with limits of its own, in −100 to 100 unless LeRobot runs with --robot.use_degrees=true",
  },
  {
    names: ["fr3", "franka research 3"],
    nearest: "droid.franka-panda.v1",
    differs: "limits of its own: DROID's config/fr3/franka_hardware.yaml",
  },
  {
    names: ["ur3e", "ur10e", "ur16e", "ur3", "ur5", "ur10"],
    nearest: "ur.ur5e-2f85.v1",
    differs: "limits of its own: joint_limits.yaml of ur_description",
  },
  { names: ["big yam"], nearest: "yam.bimanual-joint-position.v1", differs: "limits of its own: i2rt's big_yam.xml" },
  {
    names: ["mobile aloha"],
    nearest: "trossen.aloha-bimanual.v1",
    differs: "topology: mobile_manipulator, and a group of kind base",
  },
  { names: ["g1 inspire", "g1 brainco"], nearest: "unitree.g1-dex3.v1", differs: "other hands" },
];

/** What the joints of a LeRobot robot may be in. */
export const JOINT_UNITS = ["deg", "calibrated_range"] as const;
export type JointUnit = (typeof JOINT_UNITS)[number];

/** When the joints of a LeRobot robot are in which unit; null for other types. */
export function lerobotUnit(robotTypeId: string): Readonly<Record<JointUnit, string>> | null {
  const since = TYPE_HINTS.get(robotTypeId)?.degrees_since;
  if (since === undefined) return null;
  return {
    deg: `degrees: LeRobot ${since} and newer, and older ones with --robot.use_degrees=true`,
    calibrated_range: `-100 to 100: LeRobot before ${since}, and newer ones with --robot.use_degrees=false`,
  };
}
