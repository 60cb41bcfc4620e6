/* oxlint-disable approx-constant -- limits are written as their sources print them */
import type { Pair } from "../custom/body.ts";
import type { CatalogRow } from "./catalog.ts";

const SO101_ARM = {
  kind: "arm",
  elements: ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"],
  unit: "deg",
  zero: "calibrated_mid",
  limits: {
    unit: "rad",
    position: ranges([-1.91986, -1.74533, -1.69, -1.65806, -2.79253], [1.91986, 1.74533, 1.69, 1.65806, 2.79253]),
    velocity: 3.15,
  },
} as const;

const VIPERX_ARM = {
  kind: "arm",
  elements: ["waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate"],
  unit: "rad",
  zero: "driver",
  limits: {
    position: ranges([-3.14159, -1.85, -1.76, -3.14159, -1.8, -3.14159], [3.14159, 1.25, 1.6, 3.14159, 2.2, 3.14159]),
    velocity: 1.5,
  },
} as const;

const YAM_ARM = {
  kind: "arm",
  elements: ["joint1", "joint2", "joint3", "joint4", "joint5", "joint6"],
  unit: "rad",
  zero: "driver",
} as const;

const G1_ARM = {
  kind: "arm",
  elements: ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch", "wrist_yaw"],
  unit: "rad",
  zero: "urdf",
} as const;

const G1_LEFT_ARM = {
  name: "left_arm",
  ...G1_ARM,
  limits: {
    position: ranges(
      [-3.0892, -1.5882, -2.618, -1.0472, -1.972222054, -1.614429558, -1.614429558],
      [2.6704, 2.2515, 2.618, 2.0944, 1.972222054, 1.614429558, 1.614429558],
    ),
  },
} as const;

const G1_RIGHT_ARM = {
  name: "right_arm",
  ...G1_ARM,
  limits: {
    position: ranges(
      [-3.0892, -2.2515, -2.618, -1.0472, -1.972222054, -1.614429558, -1.614429558],
      [2.6704, 1.5882, 2.618, 2.0944, 1.972222054, 1.614429558, 1.614429558],
    ),
  },
} as const;

/**
 * The ready catalog, version 1. Rows are immutable: a correction is a new .vN id, so that an update of the agent never changes what a
 * robot is taken for. `source` says where the facts of a row come from; none was compared with hardware.
 */
export const CATALOG_ROWS: readonly CatalogRow[] = [
  {
    robot_type_id: "lerobot.so101-follower.v1",
    display_name: "SO-101 follower arm (LeRobot)",
    hosted: true,
    source:
      "names, order, units: huggingface/lerobot robots/so_follower (use_degrees true); gripper 0 closed, 100 open and position limits: TheRobotStudio/SO-ARM100 Simulation/SO101; velocity: 0.7 of the servo's 4.5 rad/s",
    topology: "single_arm",
    action_semantics: "joint_position",
    control_rate_hz: 30,
    groups: [
      { name: "arm", ...SO101_ARM },
      { name: "gripper", kind: "gripper", unit: "percent", aperture: { closed: 0, open: 100 } },
    ],
    cameras: "user",
  },
  {
    robot_type_id: "lerobot.bi-so101-follower.v1",
    display_name: "Two SO-101 follower arms (LeRobot)",
    hosted: false,
    source:
      "names and left-first order from huggingface/lerobot robots/bi_so_follower; each arm as lerobot.so101-follower.v1",
    topology: "bimanual",
    action_semantics: "joint_position",
    control_rate_hz: 30,
    groups: [
      { name: "left_arm", ...SO101_ARM },
      { name: "left_gripper", kind: "gripper", unit: "percent", aperture: { closed: 0, open: 100 } },
      { name: "right_arm", ...SO101_ARM },
      { name: "right_gripper", kind: "gripper", unit: "percent", aperture: { closed: 0, open: 100 } },
    ],
    cameras: "user",
  },
  {
    robot_type_id: "lerobot.lekiwi.v1",
    display_name: "LeKiwi mobile manipulator (LeRobot)",
    hosted: false,
    source:
      "huggingface/lerobot robots/lekiwi: names and order lekiwi.py, rate config_lekiwi.py (max_loop_freq_hz), joints in -100..100 (use_degrees false), theta in deg/s, base limits from the fastest keyboard level of lekiwi_client.py",
    topology: "mobile_manipulator",
    action_semantics: "joint_position",
    control_rate_hz: 30,
    groups: [
      {
        name: "arm",
        kind: "arm",
        elements: ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"],
        unit: "calibrated_range",
      },
      { name: "gripper", kind: "gripper", unit: "percent", aperture: { closed: 0, open: 100 } },
      {
        name: "base",
        kind: "base",
        elements: ["x", "y", "theta"],
        angle_unit: "deg",
        limits: { velocity: [0.3, 0.3, 90] },
      },
    ],
    cameras: "user",
  },
  {
    robot_type_id: "trossen.aloha-bimanual.v1",
    display_name: "ALOHA stationary, two ViperX arms",
    hosted: true,
    source:
      "names, left-first order, 50 Hz, cameras: Physical-Intelligence/openpi examples/aloha_real; gripper 0 closed, 1 open: real_env.py; arm limits and speed: OpenRAL robots (self-described approximate)",
    topology: "bimanual",
    action_semantics: "joint_position",
    control_rate_hz: 50,
    groups: [
      { name: "left_arm", ...VIPERX_ARM },
      { name: "left_gripper", kind: "gripper", unit: "ratio", aperture: { closed: 0, open: 1 } },
      { name: "right_arm", ...VIPERX_ARM },
      { name: "right_gripper", kind: "gripper", unit: "ratio", aperture: { closed: 0, open: 1 } },
    ],
    cameras: [
      { role: "cam_high", mount: "exterior", width: 640, height: 480, fps: 50 },
      { role: "cam_low", mount: "exterior", width: 640, height: 480, fps: 50 },
      { role: "cam_left_wrist", mount: "wrist", width: 640, height: 480, fps: 50 },
      { role: "cam_right_wrist", mount: "wrist", width: 640, height: 480, fps: 50 },
    ],
  },
  {
    robot_type_id: "droid.franka-panda.v1",
    display_name: "Franka Panda with Robotiq 2F-85 (DROID)",
    hosted: true,
    source:
      "15 Hz, 0.2 rad per step full scale, gripper 1 - width/max: droid robot_ik_solver.py and main.py; cameras: openpi droid_policy.py and droid zed_camera.py, sent at 320x180; limits: Franka Emika Panda datasheet",
    topology: "single_arm",
    action_semantics: "joint_velocity",
    control_rate_hz: 15,
    groups: [
      {
        name: "arm",
        kind: "arm",
        elements: ["joint_1", "joint_2", "joint_3", "joint_4", "joint_5", "joint_6", "joint_7"],
        unit: "rad",
        zero: "driver",
        normalized: { full_scale: 0.2, per: "step" },
        limits: {
          position: ranges(
            [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973],
            [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973],
          ),
          velocity: [2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61],
        },
      },
      { name: "gripper", kind: "gripper", unit: "ratio", aperture: { closed: 1, open: 0 } },
    ],
    gripper: "binary",
    cameras: [
      { role: "exterior", mount: "exterior", width: 320, height: 180, fps: 60 },
      { role: "wrist", mount: "wrist", width: 320, height: 180, fps: 60 },
    ],
  },
  {
    robot_type_id: "yam.bimanual-joint-position.v1",
    display_name: "Two YAM arms",
    hosted: true,
    source:
      "14 axes left first, gripper 1 open, cameras in the order top, left, right at 640x360, 30 Hz: npow/molmoact2 examples/yam; joint limits not published there, so a robot that extends this row must add limits to both arms",
    topology: "bimanual",
    action_semantics: "joint_position",
    control_rate_hz: 30,
    groups: [
      { name: "left_arm", ...YAM_ARM },
      { name: "left_gripper", kind: "gripper", unit: "ratio", aperture: { closed: 0, open: 1 } },
      { name: "right_arm", ...YAM_ARM },
      { name: "right_gripper", kind: "gripper", unit: "ratio", aperture: { closed: 0, open: 1 } },
    ],
    cameras: [
      { role: "top", mount: "exterior", width: 640, height: 360, fps: 30 },
      { role: "left", mount: "wrist", width: 640, height: 360, fps: 30 },
      { role: "right", mount: "wrist", width: 640, height: 360, fps: 30 },
    ],
  },
  {
    robot_type_id: "unitree.g1-dex3.v1",
    display_name: "Unitree G1 upper body with Dex3-1 hands",
    hosted: false,
    source:
      "names and order (left hand thumb, middle, index; right hand thumb, index, middle): unitreerobotics/unitree_IL_lerobot utils/constants.py; 30 Hz: unitree xr_teleoperate --frequency; limits: Unitree G1 and Dex3-1 URDF",
    topology: "bimanual",
    action_semantics: "joint_position",
    control_rate_hz: 30,
    groups: [
      G1_LEFT_ARM,
      G1_RIGHT_ARM,
      {
        name: "left_hand",
        kind: "hand",
        elements: ["thumb_0", "thumb_1", "thumb_2", "middle_0", "middle_1", "index_0", "index_1"],
        unit: "rad",
        zero: "urdf",
        limits: {
          position: ranges(
            [-1.04719755, -0.72431163, 0, -1.57079632, -1.74532925, -1.57079632, -1.74532925],
            [1.04719755, 1.04719755, 1.74532925, 0, 0, 0, 0],
          ),
        },
      },
      {
        name: "right_hand",
        kind: "hand",
        elements: ["thumb_0", "thumb_1", "thumb_2", "index_0", "index_1", "middle_0", "middle_1"],
        unit: "rad",
        zero: "urdf",
        limits: {
          position: ranges(
            [-1.04719755, -1.04719755, -1.74532925, 0, 0, 0, 0],
            [1.04719755, 0.72431163, 0, 1.57079632, 1.74532925, 1.57079632, 1.74532925],
          ),
        },
      },
    ],
    cameras: "user",
  },
  {
    robot_type_id: "unitree.g1-dex1.v1",
    display_name: "Unitree G1 upper body with Dex1-1 grippers",
    hosted: false,
    source:
      "names and order: unitreerobotics/unitree_IL_lerobot utils/constants.py; gripper 0 rad closed, 5.4 rad open and 30 Hz: unitree xr_teleoperate; limits: Unitree G1 URDF",
    topology: "bimanual",
    action_semantics: "joint_position",
    control_rate_hz: 30,
    groups: [
      G1_LEFT_ARM,
      G1_RIGHT_ARM,
      { name: "left_gripper", kind: "gripper", unit: "rad", aperture: { closed: 0, open: 5.4 } },
      { name: "right_gripper", kind: "gripper", unit: "rad", aperture: { closed: 0, open: 5.4 } },
    ],
    cameras: "user",
  },
  {
    robot_type_id: "bridge.widowx-250.v1",
    display_name: "WidowX 250 with delta end-effector control (BridgeData V2)",
    hosted: false,
    source:
      "state xyz, roll, pitch, yaw, gripper and delta action: openvla oxe/configs.py (its padding dimension belongs to the dataset); step 0.2 s, action bounds 0.05 m and 0.25 rad: bridge_data_robot",
    topology: "single_arm",
    action_semantics: "eef_delta",
    control_rate_hz: 5,
    groups: [
      {
        name: "eef",
        kind: "eef",
        frame: "ee_gripper_link",
        rotation: "euler_xyz",
        limits: { velocity: [0.25, 0.25, 0.25, 1.25, 1.25, 1.25] },
      },
      { name: "gripper", kind: "gripper", unit: "ratio", aperture: { closed: 0, open: 1 } },
    ],
    gripper: "binary",
    cameras: "user",
  },
  {
    robot_type_id: "ur.ur5e-2f85.v1",
    display_name: "UR5e with Robotiq 2F-85",
    hosted: false,
    source:
      "6 joints and gripper, 20 Hz, gripper 0 open, 1 closed: Physical-Intelligence/openpi docs/norm_stats.md, examples/ur5; limits: Universal Robots UR5e datasheet (±360 deg, 180 deg/s; elbow ±180 deg as in the ROS driver)",
    topology: "single_arm",
    action_semantics: "joint_position",
    control_rate_hz: 20,
    groups: [
      {
        name: "arm",
        kind: "arm",
        elements: ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"],
        unit: "rad",
        zero: "driver",
        limits: {
          unit: "deg",
          position: ranges([-360, -360, -180, -360, -360, -360], [360, 360, 180, 360, 360, 360]),
          velocity: 180,
        },
      },
      { name: "gripper", kind: "gripper", unit: "ratio", aperture: { closed: 1, open: 0 } },
    ],
    cameras: "user",
  },
];

/** Ranges in element order, from their lower and their upper ends. */
function ranges(lows: readonly number[], highs: readonly number[]): readonly Pair[] {
  return lows.map((low, index) => [low, highs[index] ?? low]);
}
