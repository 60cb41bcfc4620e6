/* oxlint-disable approx-constant -- limits are written as their sources print them */
import type { ActionSemantics, Camera, Gripper, Group, Kind, Pair, Topology } from "../custom/keys.ts";

/** A robot type that the service, or this program, knows by name (SPEC section 10), in the manifest's terms, without defaults. */
export interface CatalogRow {
  readonly robot_type_id: string;
  readonly display_name: string;
  /** The service is known to have the type: a robot of exactly this type registers by id alone. */
  readonly hosted: boolean;
  /** The source of the facts. */
  readonly source: string;
  readonly topology: Topology;
  readonly action_semantics: ActionSemantics;
  readonly gripper?: Gripper;
  readonly control_rate_hz: number;
  /** In vector order. */
  readonly groups: readonly CatalogGroup[];
  /** `user`: whoever installs the robot declares them. */
  readonly cameras: "user" | readonly CatalogCamera[];
}

/** A group, whose kind is known. */
export type CatalogGroup = Group & { readonly kind: Kind };
export type CatalogCamera = Pick<Camera, "role" | "mount" | "side" | "width" | "height" | "fps">;

const SO101_ARM = {
  kind: "arm",
  elements: ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"],
  unit: "deg",
  zero: "calibrated_mid",
  limits: {
    unit: "rad",
    // 120, 110, 105, 110 and 180 deg
    position: ranges([-2.0944, -1.9199, -1.8326, -1.9199, -3.1416], [2.0944, 1.9199, 1.8326, 1.9199, 3.1416]),
    velocity: 4.5,
  },
} as const;

const VIPERX_ARM = {
  kind: "arm",
  elements: ["waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate"],
  unit: "rad",
  zero: "driver",
  limits: {
    unit: "deg",
    position: ranges([-180, -106, -101, -180, -107, -180], [180, 72, 92, 180, 128, 180]),
    velocity: 180,
  },
} as const;

const YAM_ARM = {
  kind: "arm",
  elements: ["joint1", "joint2", "joint3", "joint4", "joint5", "joint6"],
  unit: "rad",
  zero: "driver",
  limits: {
    position: ranges([-2.61799, 0, 0, -1.69297, -1.5708, -2.0944], [3.14159, 3.66519, 3.14159, 1.5708, 1.5708, 2.0944]),
  },
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
 * The ready catalog, version 1. From the first release on rows are immutable: a correction is then a new .vN id, so that an update of the
 * agent never changes what a robot is taken for. `source` names the file of each number, and where files differ which one is followed and
 * why; none was compared with hardware.
 */
export const CATALOG_ROWS: readonly CatalogRow[] = [
  {
    robot_type_id: "lerobot.so101-follower.v1",
    display_name: "SO-101 follower arm (LeRobot)",
    hosted: true,
    source:
      "names, order, degrees: huggingface/lerobot src/lerobot/robots/so_follower/so_follower.py and config_so_follower.py (use_degrees true since 0.4.4); position limits: half the travel in nine public calibration files of LeRobot, rounded up to 5 deg, and wrist_roll a full turn as so_follower.py records it. TheRobotStudio/SO-ARM100 Simulation/SO101/so101_new_calib.urdf has less (110, 100, 96.8, 95, -157 to 163 deg), from the CAD, and eight of the nine arms leave it: how far an arm goes is a property of its calibration, and may be wider. Velocity: OpenRAL/openral robots/so101_follower/robot.yaml (the URDF has the exporter's 10); gripper 0 closed, 100 open: so_follower.py, so101_new_calib.urdf; 30 Hz: so101_follower/robot.yaml",
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
      "names and left-first order: huggingface/lerobot src/lerobot/robots/bi_so_follower/bi_so_follower.py; each arm as lerobot.so101-follower.v1",
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
      "huggingface/lerobot src/lerobot/robots/lekiwi: names and order lekiwi.py; degrees config_lekiwi.py (use_degrees true since 0.6.0; -100 to 100 before); rate config_lekiwi.py (max_loop_freq_hz); theta in deg/s and base limits lekiwi_client.py (fastest of speed_levels); arm limits as lerobot.so101-follower.v1, the same arm",
    topology: "mobile_manipulator",
    action_semantics: "joint_position",
    control_rate_hz: 30,
    groups: [
      { name: "arm", ...SO101_ARM },
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
      "names, left-first order, gripper 0 closed, 1 open: Physical-Intelligence/openpi examples/aloha_real/real_env.py; 50 Hz: main.py; images of 224x224 as env.py sends them; 60 frames: tonyzhaozh/aloha launch/4arms_teleop.launch (which captures 640x480); arm limits and speed: Interbotix/interbotix_ros_manipulators interbotix_ros_xsarms/interbotix_xsarm_descriptions/urdf/vx300s.urdf.xacro. OpenRAL/openral robots/aloha_bimanual has 3 rad/s and narrower limits, which it calls approximate",
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
      { role: "cam_high", mount: "exterior", width: 224, height: 224, fps: 60 },
      { role: "cam_low", mount: "exterior", width: 224, height: 224, fps: 60 },
      { role: "cam_left_wrist", mount: "wrist", width: 224, height: 224, fps: 60 },
      { role: "cam_right_wrist", mount: "wrist", width: 224, height: 224, fps: 60 },
    ],
  },
  {
    robot_type_id: "droid.franka-panda.v1",
    display_name: "Franka Panda with Robotiq 2F-85 (DROID)",
    hosted: true,
    source:
      "15 Hz, 0.2 rad per step full scale: droid-dataset/droid droid/robot_ik/robot_ik_solver.py; gripper 1 - width/max: droid/franka/robot.py; images of 224x224 as Physical-Intelligence/openpi examples/droid/main.py sends them (the data set has 320x180); 60 frames: droid/camera_utils/camera_readers/zed_camera.py; limits and speed: droid config/panda/franka_hardware.yaml, which the driver enforces: the data sheet's less 0.1 rad and 0.1 rad/s",
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
          position: ranges([-2.8, -1.66, -2.8, -2.97, -2.8, 0.08, -2.8], [2.8, 1.66, 2.8, -0.17, 2.8, 3.65, 2.8]),
          velocity: [2.075, 2.075, 2.075, 2.075, 2.51, 2.51, 2.51],
        },
      },
      { name: "gripper", kind: "gripper", unit: "ratio", aperture: { closed: 1, open: 0 } },
    ],
    gripper: "binary",
    cameras: [
      { role: "exterior", mount: "exterior", width: 224, height: 224, fps: 60 },
      { role: "wrist", mount: "wrist", width: 224, height: 224, fps: 60 },
    ],
  },
  {
    robot_type_id: "yam.bimanual-joint-position.v1",
    display_name: "Two YAM arms",
    hosted: true,
    source:
      "14 axes left first, gripper 1 open, cameras in the order top, left, right: npow/molmoact2 examples/yam/host_server_yam.py and molmoact_client.py; 30 Hz: configs/yam_left.yaml; 640x360: configs/yam_bimanual_physical.yaml; limits: i2rt-robotics/i2rt i2rt/robot_models/arm/yam/yam.xml (the driver, i2rt/robots/get_robot.py, clips commands 0.15 rad further out; yam_pro.xml and yam_ultra.xml are the same, big_yam.xml is not)",
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
      "names and order (left hand thumb, middle, index; right hand thumb, index, middle): unitreerobotics/unitree_IL_lerobot unitree_lerobot/utils/constants.py; 30 Hz: its README.md (--frequency=30); limits: unitreerobotics/unitree_ros robots/g1_description/g1_29dof_with_hand.urdf, and robots/dexterous_hand_description/dex3_1/dex3_1_l.urdf and dex3_1_r.urdf. Older files robots/g1_description/dex3_1_l.urdf and _r.urdf, since removed, have 0.724 for thumb_1",
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
            [-1.04719755, -0.61086523, 0, -1.57079632, -1.74532925, -1.57079632, -1.74532925],
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
            [1.04719755, 0.61086523, 0, 1.57079632, 1.74532925, 1.57079632, 1.74532925],
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
      "names and order: unitreerobotics/unitree_IL_lerobot unitree_lerobot/utils/constants.py; 30 Hz: its README.md (--frequency=30); gripper 0 rad closed, 5.4 rad open: unitreerobotics/xr_teleoperate teleop/robot_control/robot_hand_unitree.py; limits: unitreerobotics/unitree_ros robots/g1_description/g1_29dof_mode_15_with_dex1_1.urdf",
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
      "state xyz, roll, pitch, yaw, gripper and delta action: openvla/openvla prismatic/vla/datasets/rlds/oxe/configs.py (its padding dimension belongs to the dataset); step 0.2 s: rail-berkeley/bridge_data_robot widowx_envs/experiments/bridge_data_v2/conf.py; action bounds 0.05 m and 0.25 rad: widowx_envs/widowx_envs/base/robot_base_env.py; rotation relative to DEFAULT_ROTATION: widowx_envs/widowx_controller/src/widowx_controller/widowx_controller.py",
    topology: "single_arm",
    action_semantics: "eef_delta",
    control_rate_hz: 5,
    groups: [
      {
        name: "eef",
        kind: "eef",
        frame: "ee_gripper_link",
        rotation: "euler_xyz",
        rotation_frame: "the gripper pointing down",
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
      "6 joints and gripper: Physical-Intelligence/openpi examples/ur5/README.md; 20 Hz, gripper 0 open, 1 closed: docs/norm_stats.md; limits and speed: UniversalRobots/Universal_Robots_ROS2_Description config/ur5e/joint_limits.yaml (elbow 180 deg, although the joint itself turns 360: the arm is in its own way)",
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
