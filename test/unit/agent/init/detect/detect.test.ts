/** What `init` proposes in the homes of robots: the right robot, or a question. */
import { expect, test } from "vitest";

import { detect } from "../../../../../src/agent/init/detect/detect.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { systemFiles } from "../../../../../src/platform/files/files.ts";
import {
  type Layout,
  lerobotCalibration,
  OLD_LEROBOT_CALIBRATION,
  robotHome,
  urCalibration,
} from "../../../../support/robot/homes.ts";

const LEROBOT = ".cache/huggingface/lerobot/calibration";
const PACKAGE = "<package/>";

async function detected(layout: Layout, environment: Readonly<Record<string, string>> = {}) {
  const { home, root } = robotHome(layout);
  const signal = new AbortController().signal;
  const found = await detect({ files: systemFiles, clock: systemClock, signal, homes: [home], root, environment });
  const short = (text: string) => text.replaceAll(home, "~").replaceAll(root, "");
  return {
    found,
    short,
    robots: found.candidates.map(({ robot }) => robot),
    types: found.candidates.map(({ type, differs }) => (differs === null ? type : `near ${type}`)),
    files: found.candidates.flatMap(({ files }) => files.map(({ path }) => short(path))),
    leftOut: found.candidates.flatMap(({ leftOut }) => leftOut.map(({ path, reason }) => `${short(path)}: ${reason}`)),
    questions: found.questions.map(short),
    isDecided: found.decided !== null,
  };
}

interface Expected {
  readonly home: string;
  readonly layout: Layout;
  readonly environment?: Readonly<Record<string, string>>;
  readonly types: readonly (string | null)[];
  readonly files: readonly string[];
  /** Parts of the questions; none when it is decided. */
  readonly asks?: readonly string[];
}

const SO101 = "lerobot.so101-follower.v1";
const UR = "~/ros2_ws/src";

const HOMES: readonly Expected[] = [
  {
    home: "SO-101 follower of a LeRobot since 0.4.3, with its leader",
    layout: {
      [`${LEROBOT}/robots/so_follower/my_arm.json`]: lerobotCalibration(),
      [`${LEROBOT}/teleoperators/so_leader/my_leader.json`]: lerobotCalibration(),
    },
    types: [SO101],
    files: [`~/${LEROBOT}/robots/so_follower/my_arm.json`],
  },
  {
    home: "SO-101 whose folder was renamed, calibrated again since",
    layout: {
      [`${LEROBOT}/robots/so_follower/my_arm.json`]: lerobotCalibration(),
      [`${LEROBOT}/robots/so101_follower/my_arm.json`]: lerobotCalibration("", 2000),
    },
    types: [SO101],
    files: [`~/${LEROBOT}/robots/so_follower/my_arm.json`],
  },
  {
    home: "SO-100 without --robot.id",
    layout: { [`${LEROBOT}/robots/so100_follower/None.json`]: lerobotCalibration() },
    types: [SO101],
    files: [`~/${LEROBOT}/robots/so100_follower/None.json`],
  },
  {
    home: "two ids of one kind of arm",
    layout: {
      [`${LEROBOT}/robots/so101_follower/black.json`]: lerobotCalibration(),
      [`${LEROBOT}/robots/so101_follower/white.json`]: lerobotCalibration(),
    },
    types: [SO101],
    files: [`~/${LEROBOT}/robots/so101_follower/black.json`],
    asks: ["black, white"],
  },
  {
    home: "two ids, one of them in a file for --config_path",
    layout: {
      [`${LEROBOT}/robots/so101_follower/black.json`]: lerobotCalibration(),
      [`${LEROBOT}/robots/so101_follower/white.json`]: lerobotCalibration(),
      "lerobot/configs/pick.yaml": "robot:\n  type: so101_follower\n  id: white\n  use_degrees: false\n",
    },
    types: [SO101],
    files: [`~/${LEROBOT}/robots/so101_follower/white.json`, "~/lerobot/configs/pick.yaml"],
  },
  {
    home: "SO-100 of a LeRobot before June 2025, with the calibration in the checkout",
    layout: {
      "lerobot/.cache/calibration/so100/main_follower.json": OLD_LEROBOT_CALIBRATION,
      "lerobot/.cache/calibration/so100/main_leader.json": OLD_LEROBOT_CALIBRATION,
    },
    types: [`near ${SO101}`],
    files: ["~/lerobot/.cache/calibration/so100/main_follower.json"],
    asks: ["before June 2025"],
  },
  {
    home: "two SO-101, left and right",
    layout: {
      [`${LEROBOT}/robots/so_follower/bench_left.json`]: lerobotCalibration(),
      [`${LEROBOT}/robots/so_follower/bench_right.json`]: lerobotCalibration(),
      [`${LEROBOT}/robots/bi_so_follower/`]: "",
    },
    types: ["lerobot.bi-so101-follower.v1"],
    files: ["left", "right"].map((side) => `~/${LEROBOT}/robots/so_follower/bench_${side}.json`),
  },
  {
    home: "a left and a right SO-101 that LeRobot has not driven together",
    layout: {
      [`${LEROBOT}/robots/so_follower/left.json`]: lerobotCalibration(),
      [`${LEROBOT}/robots/so_follower/right.json`]: lerobotCalibration(),
    },
    types: ["lerobot.bi-so101-follower.v1"],
    files: ["left", "right"].map((side) => `~/${LEROBOT}/robots/so_follower/${side}.json`),
    asks: ["one arm, or two"],
  },
  {
    home: "Koch",
    layout: { [`${LEROBOT}/robots/koch_follower/koch.json`]: lerobotCalibration() },
    types: [`near ${SO101}`],
    files: [`~/${LEROBOT}/robots/koch_follower/koch.json`],
  },
  {
    home: "LeKiwi, whose shell names another folder",
    layout: {
      ".bashrc": 'export HF_LEROBOT_CALIBRATION="$HOME/calibration" # shared\n',
      "calibration/robots/lekiwi/kiwi.json": lerobotCalibration("arm_"),
    },
    types: ["lerobot.lekiwi.v1"],
    files: ["~/calibration/robots/lekiwi/kiwi.json"],
  },
  {
    home: "OpenArm with LeRobot",
    layout: {
      [`${LEROBOT}/robots/openarm_follower/arm_left.json`]: lerobotCalibration(),
      [`${LEROBOT}/robots/openarm_follower/arm_right.json`]: lerobotCalibration(),
      [`${LEROBOT}/robots/bi_openarm_follower/`]: "",
    },
    types: [null],
    files: ["left", "right"].map((side) => `~/${LEROBOT}/robots/openarm_follower/arm_${side}.json`),
  },
  {
    home: "UR5e with a Robotiq gripper in a workspace, and its calibration",
    layout: {
      "my_robot_calibration.yaml": urCalibration(0.16236, 0.42487),
      "old_robot_calibration.yaml": urCalibration(0.16236, 0.42481),
      "ros2_ws/src/cell/package.xml": PACKAGE,
      "ros2_ws/src/cell/urdf/cell.urdf.xacro":
        '<robot name="cell"><xacro:include filename="robotiq_2f_85.xacro"/></robot>',
      "ros2_ws/src/cell/launch/start.launch.py": 'DeclareLaunchArgument("ur_type", default_value="ur5e")',
      "ros2_ws/src/ur_description/package.xml": PACKAGE,
      "ros2_ws/src/ur_description/config/ur5e/joint_limits.yaml": "joint_limits: {}",
      "ros2_ws/src/ur_description/config/ur5e/default_kinematics.yaml": urCalibration(0.1625, 0.425),
      "ros2_ws/src/ur_description/config/ur10e/joint_limits.yaml": "joint_limits: {}",
    },
    types: ["ur.ur5e-2f85.v1"],
    files: [
      "~/my_robot_calibration.yaml",
      `${UR}/ur_description/config/ur5e/joint_limits.yaml`,
      `${UR}/cell/urdf/cell.urdf.xacro`,
    ],
  },
  {
    home: "UR10e by its lengths, with the packages of Debian packages",
    layout: {
      "ros2_ws/src/cell/package.xml": PACKAGE,
      "ros2_ws/src/cell/config/robot_calibration.yaml": urCalibration(0.1809, 0.6129),
      "ros2_ws/src/cell/config/controllers.yaml": "controller_manager: {}",
      "ros2_ws/src/cell/launch/start.sh": "ros2 launch ur_robot_driver ur_control.launch.py ur_type:=ur10e",
      "/opt/ros/jazzy/share/ur_description/config/ur10e/joint_limits.yaml": "joint_limits: {}",
    },
    types: ["near ur.ur5e-2f85.v1"],
    files: [
      `${UR}/cell/config/robot_calibration.yaml`,
      "/opt/ros/jazzy/share/ur_description/config/ur10e/joint_limits.yaml",
      `${UR}/cell/config/controllers.yaml`,
    ],
  },
  {
    home: "Universal Robots: the workspace names another model than the calibration",
    layout: {
      "my_robot_calibration.yaml": urCalibration(0.1625, 0.425),
      "ros2_ws/src/cell/package.xml": PACKAGE,
      "ros2_ws/src/cell/launch/start.sh": "ros2 launch ur_robot_driver ur_control.launch.py ur_type:=ur10e",
    },
    types: ["near ur.ur5e-2f85.v1"],
    files: ["~/my_robot_calibration.yaml"],
    asks: ["fits ur5e or ur7e, ur10e is named"],
  },
  {
    home: "Franka FR3 with ROS 2",
    layout: {
      "franka_ros2_ws/src/franka_ros2/franka_bringup/package.xml": PACKAGE,
      "franka_ros2_ws/src/franka_ros2/franka_bringup/config/franka.config.yaml": 'ROBOT1:\n  robot_type: "fr3"\n',
      "franka_ros2_ws/src/franka_description/package.xml": PACKAGE,
      "franka_ros2_ws/src/franka_description/robots/fr3/joint_limits.yaml": "joint1: {}",
      "franka_ros2_ws/src/franka_description/robots/fer/joint_limits.yaml": "joint1: {}",
    },
    types: ["near droid.franka-panda.v1"],
    files: [
      "~/franka_ros2_ws/src/franka_description/robots/fr3/joint_limits.yaml",
      "~/franka_ros2_ws/src/franka_ros2/franka_bringup/config/franka.config.yaml",
    ],
  },
  {
    home: "DROID with a Panda",
    layout: {
      "droid/config/panda/franka_hardware.yaml": "robot_client: {}",
      "droid/config/fr3/franka_hardware.yaml": "robot_client: {}",
      "droid/droid/misc/parameters.py": "sudo_password = \"x\"\nrobot_type = \"panda\"  # 'panda' or 'fr3'\n",
      "droid/droid/calibration/calibration_info.json": "{}",
    },
    types: ["droid.franka-panda.v1"],
    files: ["~/droid/config/panda/franka_hardware.yaml", "~/droid/droid/calibration/calibration_info.json"],
  },
  {
    home: "DROID as it is cloned",
    layout: {
      "projects/droid/config/panda/franka_hardware.yaml": "robot_client: {}",
      "projects/droid/config/fr3/franka_hardware.yaml": "robot_client: {}",
      "projects/droid/droid/misc/parameters.py": "robot_type = \"\"  # 'panda' or 'fr3'\n",
    },
    types: ["droid.franka-panda.v1"],
    files: ["fr3", "panda"].map((model) => `~/projects/droid/config/${model}/franka_hardware.yaml`),
    asks: ["Panda or an FR3"],
  },
  {
    home: "ALOHA with ROS 1",
    layout: {
      "interbotix_ws/src/aloha/config/master_modes_left.yaml": "port: /dev/ttyDXL_master_left",
      "interbotix_ws/src/aloha/config/puppet_modes_left.yaml": "port: /dev/ttyDXL_puppet_left",
      "interbotix_ws/src/aloha/config/puppet_modes_right.yaml": "port: /dev/ttyDXL_puppet_right",
      "interbotix_ws/src/aloha/launch/4arms_teleop.launch": "<launch/>",
      "interbotix_ws/src/aloha/package.xml": PACKAGE,
      "/etc/udev/rules.d/99-fixed-interbotix-udev.rules": 'SUBSYSTEM=="tty"',
    },
    types: ["trossen.aloha-bimanual.v1"],
    files: [
      "~/interbotix_ws/src/aloha/config/puppet_modes_left.yaml",
      "~/interbotix_ws/src/aloha/config/puppet_modes_right.yaml",
      "~/interbotix_ws/src/aloha/launch/4arms_teleop.launch",
      "/etc/udev/rules.d/99-fixed-interbotix-udev.rules",
    ],
  },
  {
    home: "ALOHA as it is cloned",
    layout: {
      "interbotix_ws/src/aloha/config/puppet_modes_left.yaml": "port: /dev/ttyDXL_puppet_left",
      "interbotix_ws/src/aloha/config/puppet_modes_right.yaml": "port: /dev/ttyDXL_puppet_right",
    },
    types: ["trossen.aloha-bimanual.v1"],
    files: ["left", "right"].map((side) => `~/interbotix_ws/src/aloha/config/puppet_modes_${side}.yaml`),
    asks: ["is this computer such a robot's?"],
  },
  {
    home: "ALOHA with ROS 2, which also drives solo and mobile ones",
    layout: {
      "interbotix_ws/src/aloha/config/follower_modes_left.yaml": "port: /dev/ttyDXL_follower_left",
      "interbotix_ws/src/aloha/config/follower_modes_right.yaml": "port: /dev/ttyDXL_follower_right",
      "/etc/udev/rules.d/99-interbotix-udev.rules": 'SUBSYSTEM=="tty"',
    },
    types: ["trossen.aloha-bimanual.v1"],
    files: [
      ...["left", "right"].map((side) => `~/interbotix_ws/src/aloha/config/follower_modes_${side}.yaml`),
      "/etc/udev/rules.d/99-interbotix-udev.rules",
    ],
    asks: ["stationary, solo or mobile"],
  },
  {
    home: "two YAM arms",
    layout: {
      "/opt/yam/configs/yam_left.yaml": "robot: {channel: can_left}",
      "/opt/yam/configs/yam_right.yaml": "robot: {channel: can_right}",
      "/etc/udev/rules.d/90-can.rules": 'SUBSYSTEM=="net"',
    },
    types: ["yam.bimanual-joint-position.v1"],
    files: ["/opt/yam/configs/yam_left.yaml", "/opt/yam/configs/yam_right.yaml", "/etc/udev/rules.d/90-can.rules"],
  },
  {
    home: "i2rt as it is cloned",
    layout: { "i2rt/i2rt/robots/config/yam.yml": "kp: []", "i2rt/i2rt/robots/config/big_yam.yml": "kp: []" },
    types: ["yam.bimanual-joint-position.v1"],
    files: ["~/i2rt/i2rt/robots/config/big_yam.yml", "~/i2rt/i2rt/robots/config/yam.yml"],
    asks: ["one arm or two"],
  },
  {
    home: "Reachy 2",
    layout: {
      ".reachy_config/reachy.yaml": "generation: 2\nmodel: full_kit\n",
      ".reachy_config/reachy.yaml~": "generation: 2\n",
      ".reachy_config/left_shoulder_poulpe2d.yaml": "id: 1",
      ".reachy_config/grippers.yaml": "id: 2",
    },
    types: [null],
    files: ["reachy.yaml", "left_shoulder_poulpe2d.yaml", "grippers.yaml"].map((name) => `~/.reachy_config/${name}`),
  },
  {
    home: "Stretch 3",
    layout: {
      "stretch_user/stretch-se3-3004/stretch_configuration_params.yaml": "arm: {}",
      "stretch_user/stretch-se3-3004/stretch_user_params.yaml": "robot: {}",
      "stretch_user/stretch-se3-3004/exported_urdf/stretch.urdf": "<robot/>",
      "stretch_user/log/today.log": "",
    },
    types: [null],
    files: ["stretch_configuration_params.yaml", "stretch_user_params.yaml", "exported_urdf/stretch.urdf"].map(
      (name) => `~/stretch_user/stretch-se3-3004/${name}`,
    ),
  },
  {
    home: "OpenArm with ROS 2",
    layout: {
      "ros2_ws/src/openarm_ros2/openarm_bimanual_moveit_config/package.xml": PACKAGE,
      "ros2_ws/src/openarm_ros2/openarm_bimanual_moveit_config/config/joint_limits.yaml": "joint_limits: {}",
    },
    types: [null],
    files: ["~/ros2_ws/src/openarm_ros2/openarm_bimanual_moveit_config/config/joint_limits.yaml"],
    asks: ["one arm or two"],
  },
  {
    home: "Unitree G1",
    layout: { "xr_teleoperate/assets/g1/g1_body29_hand14.urdf": "<robot/>" },
    types: ["unitree.g1-dex3.v1"],
    files: ["~/xr_teleoperate/assets/g1/g1_body29_hand14.urdf"],
    asks: ["Dex3-1 hands"],
  },
  {
    home: "a robot of one's own, by its description",
    layout: {
      "src/colcon_ws/src/picker_description/package.xml": PACKAGE,
      "src/colcon_ws/src/picker_description/urdf/picker.urdf": '<?xml version="1.0"?>\n<robot name="picker">\n</robot>',
      "src/colcon_ws/src/picker_description/config/joint_limits.yaml": "joint_limits: {}",
      ".ros/camera_info/head.yaml": "image_width: 640",
    },
    types: [null],
    files: [
      "~/src/colcon_ws/src/picker_description/config/joint_limits.yaml",
      "~/src/colcon_ws/src/picker_description/urdf/picker.urdf",
      "~/.ros/camera_info/head.yaml",
    ],
    asks: ["picker"],
  },
  {
    home: "two different robots",
    layout: {
      [`${LEROBOT}/robots/so_follower/my_arm.json`]: lerobotCalibration(),
      "stretch_user/stretch-se3-3004/stretch_configuration_params.yaml": "arm: {}",
    },
    types: [SO101, null],
    files: [
      `~/${LEROBOT}/robots/so_follower/my_arm.json`,
      "~/stretch_user/stretch-se3-3004/stretch_configuration_params.yaml",
    ],
    asks: ["which robot does this computer drive?"],
  },
  { home: "nothing of a robot", layout: { "notes.txt": "", "src/website/index.html": "" }, types: [], files: [] },
];

test.for(HOMES)("detect: $home", async ({ layout, environment, types, files, asks = [] }) => {
  const result = await detected(layout, environment);

  expect(result.types).toEqual(types);
  expect(result.files).toEqual(files);
  expect(result.questions).toHaveLength(asks.length);
  for (const [index, part] of asks.entries()) expect(result.questions[index]).toContain(part);
  expect(result.isDecided).toBe(types.length === 1 && asks.length === 0);
});
