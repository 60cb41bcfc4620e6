/** The types of the ready catalog by id, and what people know of each. rows.ts has the whole catalog, but takes longer to load. */

export type Catalog = ReadonlyMap<string, CatalogType>;

export interface CatalogType {
  readonly display_name: string;
  /** The service is known to have the type: a robot of exactly this type registers by id alone. */
  readonly hosted: boolean;
  /** Names that people and other programs use besides the display name. */
  readonly names: readonly string[];
  /** Usual places of the files that configure such a robot; words in capitals differ from robot to robot. */
  readonly files: readonly string[];
  /** Version of LeRobot since which the joints are in degrees by default; before, they were in −100 to 100. */
  readonly degrees_since?: string;
}

const LEROBOT = "~/.cache/huggingface/lerobot/calibration/robots";
const G1_URDF = "~/xr_teleoperate/assets/g1/g1_body29_hand14.urdf";

export const READY_CATALOG: Catalog = new Map<string, CatalogType>([
  [
    "lerobot.so101-follower.v1",
    {
      display_name: "SO-101 follower arm (LeRobot)",
      hosted: true,
      names: ["so101_follower", "so100_follower", "so_follower", "SO-ARM100", "SO-ARM101"],
      files: [`${LEROBOT}/so_follower/ID.json`, `${LEROBOT}/so101_follower/ID.json`],
      degrees_since: "0.4.4",
    },
  ],
  [
    "lerobot.bi-so101-follower.v1",
    {
      display_name: "Two SO-101 follower arms (LeRobot)",
      hosted: false,
      names: ["bi_so_follower", "bi_so100_follower"],
      files: [`${LEROBOT}/so_follower/ID_left.json`, `${LEROBOT}/so_follower/ID_right.json`],
      degrees_since: "0.4.4",
    },
  ],
  [
    "lerobot.lekiwi.v1",
    {
      display_name: "LeKiwi mobile manipulator (LeRobot)",
      hosted: false,
      names: [],
      files: [`${LEROBOT}/lekiwi/ID.json`],
      degrees_since: "0.6.0",
    },
  ],
  [
    "trossen.aloha-bimanual.v1",
    {
      display_name: "ALOHA stationary, two ViperX arms",
      hosted: true,
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
      display_name: "Franka Panda with Robotiq 2F-85 (DROID)",
      hosted: true,
      names: ["Franka Emika Panda", "FER"],
      files: ["~/droid/config/panda/franka_hardware.yaml", "~/droid/droid/calibration/calibration_info.json"],
    },
  ],
  [
    "yam.bimanual-joint-position.v1",
    {
      display_name: "Two YAM arms",
      hosted: true,
      names: ["i2rt", "yam_pro", "yam_ultra"],
      files: [
        "/opt/yam/configs/yam_left.yaml",
        "/opt/yam/configs/yam_right.yaml",
        "/etc/udev/rules.d/90-yam-cameras.rules",
      ],
    },
  ],
  [
    "unitree.g1-dex3.v1",
    { display_name: "Unitree G1 upper body with Dex3-1 hands", hosted: false, names: ["Dex3"], files: [G1_URDF] },
  ],
  [
    "unitree.g1-dex1.v1",
    { display_name: "Unitree G1 upper body with Dex1-1 grippers", hosted: false, names: ["Dex1"], files: [G1_URDF] },
  ],
  [
    "bridge.widowx-250.v1",
    {
      display_name: "WidowX 250 with delta end-effector control (BridgeData V2)",
      hosted: false,
      names: ["wx250s", "BridgeData"],
      files: ["~/interbotix_ws/src/bridge_data_robot/widowx_envs/experiments/bridge_data_v2/conf.py"],
    },
  ],
  [
    "ur.ur5e-2f85.v1",
    {
      display_name: "UR5e with Robotiq 2F-85",
      hosted: false,
      names: ["Universal Robots"],
      files: ["~/my_robot_calibration.yaml"],
    },
  ],
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
    names: "ur3 ur3e ur5 ur7e ur8long ur10 ur10e ur12e ur15 ur16e ur18 ur20 ur30".split(" "),
    nearest: "ur.ur5e-2f85.v1",
    differs: "limits of its own: joint_limits.yaml of ur_description",
  },
  { names: ["big yam"], nearest: "yam.bimanual-joint-position.v1", differs: "limits of its own: i2rt's big_yam.xml" },
  {
    names: ["openarm", "openarm_follower", "bi_openarm_follower"],
    nearest: "yam.bimanual-joint-position.v1",
    differs: "seven joints to an arm, with limits of its own; in degrees with LeRobot",
  },
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
  const since = READY_CATALOG.get(robotTypeId)?.degrees_since;
  if (since === undefined) return null;
  return {
    deg: `degrees: LeRobot ${since} and newer, and older ones with --robot.use_degrees=true`,
    calibrated_range: `-100 to 100: LeRobot before ${since}, and newer ones with --robot.use_degrees=false`,
  };
}
