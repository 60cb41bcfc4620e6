/** Robots whose software keeps its files in known places, of which nothing needs to be read but which model counts. */
import { join } from "node:path";

import { type Candidate, candidate, filesIn, leftOut, type LeftOut, type Surroundings } from "./detection.ts";
import type { Search } from "./search.ts";

/** One robot as one project keeps it. */
interface Row {
  readonly key: string;
  readonly robot: string;
  readonly type: string | null;
  readonly differs?: string;
  readonly question?: string;
  /** `~/…` in a home, `/…`, or the name of a checkout in a home or in the sources of a workspace. */
  readonly at: string;
  /** A file that only a robot's computer has: without it, this may be a checkout for reading. */
  readonly proof?: string;
  /** What a file there has to say. */
  readonly says?: readonly [file: string, pattern: RegExp];
  /** Each `pattern: what it decides`; all of the first ones must be there. */
  readonly needs: readonly string[];
  readonly files?: readonly string[];
  /** Each `pattern: why`. */
  readonly leftOut?: readonly string[];
}

const LEADERS = "of leader arms, which no policy moves";
const ARM = "modes, gains and limits of the";
const CAN_RULES = "/etc/udev/rules.d/90-can.rules";
const INTERBOTIX_RULES = "/etc/udev/rules.d/99-*interbotix*.rules";

const ALOHA = {
  key: "aloha",
  robot: "ALOHA",
  type: "trossen.aloha-bimanual.v1",
  needs: [`config/puppet_modes_left.yaml: ${ARM} left arm`, `config/puppet_modes_right.yaml: ${ARM} right arm`],
  files: [
    "launch/4arms_teleop.launch: which arm and which camera has which role",
    `${INTERBOTIX_RULES}: which adapter is which arm`,
  ],
  proof: INTERBOTIX_RULES,
  leftOut: [`config/master_modes_*.yaml: ${LEADERS}`],
};
const MOBILE_ALOHA = {
  ...ALOHA,
  robot: "Mobile ALOHA",
  differs: "topology: mobile_manipulator, and a group of kind base",
};
const DROID = {
  key: "droid",
  robot: "Franka Panda with Robotiq 2F-85 (DROID)",
  type: "droid.franka-panda.v1",
  at: "droid",
  needs: ["config/panda/franka_hardware.yaml: limits and gains that the driver enforces"],
  files: ["droid/calibration/calibration_info.json: where the cameras are"],
  leftOut: ["droid/misc/parameters.py: has a field for the password of sudo"],
};
const YAM = {
  key: "yam",
  robot: "two YAM arms",
  type: "yam.bimanual-joint-position.v1",
  needs: [
    "configs/yam_left.yaml: adapter, start and cameras of the left arm",
    "configs/yam_right.yaml: adapter and start of the right arm",
  ],
  files: [
    `${CAN_RULES}: which adapter is which arm`,
    "/etc/udev/rules.d/90-yam-cameras.rules: which camera has which role",
  ],
};

const ROWS: readonly Row[] = [
  // tonyzhaozh/aloha
  { ...ALOHA, at: "aloha" },
  // MarkFzp/mobile-aloha
  { ...MOBILE_ALOHA, at: "mobile-aloha" },
  { ...MOBILE_ALOHA, at: "mobile_aloha" },
  // Interbotix/aloha
  {
    ...ALOHA,
    at: "aloha",
    question: "is it stationary, solo or mobile? This software drives all three",
    needs: [`config/follower_modes_left.yaml: ${ARM} left arm`, `config/follower_modes_right.yaml: ${ARM} right arm`],
    files: [
      "config/rs_cam.yaml: modes of the cameras",
      "launch/aloha_bringup.launch.py: roles of arms and cameras",
      ...ALOHA.files,
    ],
    leftOut: [`config/leader_*.yaml: ${LEADERS}`],
  },
  // rail-berkeley/bridge_data_robot
  {
    key: "bridge",
    robot: "WidowX 250 of BridgeData V2",
    type: "bridge.widowx-250.v1",
    at: "bridge_data_robot",
    proof: INTERBOTIX_RULES,
    needs: ["widowx_envs/experiments/bridge_data_v2/conf.py: step, bounds and cameras"],
  },
  // droid-dataset/droid: both models are in each checkout, and parameters.py says which one counts.
  { ...DROID, says: ["droid/misc/parameters.py", /^robot_type\s*=\s*["']panda["']/m] },
  {
    ...DROID,
    robot: "Franka FR3 with Robotiq 2F-85 (DROID)",
    differs: "limits of its own: DROID's config/fr3/franka_hardware.yaml",
    says: ["droid/misc/parameters.py", /^robot_type\s*=\s*["']fr3["']/m],
    needs: ["config/fr3/franka_hardware.yaml: limits and gains that the driver enforces"],
  },
  {
    ...DROID,
    question: "is it a Panda or an FR3? droid/misc/parameters.py does not say",
    says: ["droid/misc/parameters.py", /^robot_type\s*=\s*["']["']/m],
    needs: ["config/*/franka_hardware.yaml: limits and gains that the driver enforces"],
  },
  // npow/molmoact2
  { ...YAM, at: "molmoact2/examples/yam", proof: CAN_RULES },
  { ...YAM, at: "/opt/yam" },
  // i2rt-robotics/i2rt
  {
    ...YAM,
    at: "i2rt",
    robot: "YAM",
    question: "is it one arm or two, and of which model? i2rt has the files of all",
    needs: [`i2rt/robots/config/*yam*.yml: motors and gains of a model`],
  },
  // unitreerobotics/xr_teleoperate
  {
    key: "g1",
    robot: "Unitree G1",
    type: "unitree.g1-dex3.v1",
    at: "xr_teleoperate",
    question: "does it have Dex3-1 hands, Dex1-1 grippers (unitree.g1-dex1.v1) or others? The files are the same",
    needs: ["assets/g1/g1_body29_hand14.urdf: joints and limits"],
  },
  // hello-robot/stretch_body body/stretch_body/hello_utils.py, HELLO_FLEET_PATH/HELLO_FLEET_ID
  {
    key: "stretch",
    robot: "Stretch",
    type: null,
    at: "~/stretch_user/stretch-*",
    needs: ["stretch_configuration_params.yaml: calibration and serial numbers of this robot"],
    files: [
      "stretch_user_params.yaml: what you have set in place of defaults",
      "exported_urdf/stretch.urdf: calibrated joints",
    ],
    leftOut: ["log: logs", "calibration_*: the parts' own calibrations; list what your programs read"],
  },
  // pollen-robotics/reachy2_core reachy_config
  {
    key: "reachy",
    robot: "Reachy 2",
    type: null,
    at: "~/.reachy_config",
    says: ["reachy.yaml", /^(?:generation:\s*2|reachy2_configuration:|ethercat:)/m],
    needs: ["reachy.yaml: which parts the robot has"],
    files: [
      "*_poulpe*d.yaml: zeros, limits and gains of this part",
      "neck*.yaml: zeros of the neck",
      "*.yaml: zeros and limits of this part",
    ],
    leftOut: ["*~: a copy of an editor"],
  },
];

export async function findKnown(search: Search, around: Surroundings): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  for (const row of ROWS) {
    for (const place of await placesOf(search, around, row.at))
      found.push(...(await candidateAt(search, around, row, place)));
  }
  return found;
}

async function placesOf(
  search: Search,
  { homes, projects, root }: Surroundings,
  at: string,
): Promise<readonly string[]> {
  const [name = "", ...below] = at.split("/");
  const places: string[] = [];
  if (name === "~")
    for (const home of homes) places.push(...(await search.find(home, below.join("/"))).map(({ path }) => path));
  else if (name === "") places.push(join(root, at));
  else {
    places.push(...projects.filter((each) => each.name === name).map(({ path }) => join(path, ...below)));
    places.push(...projects.map(({ path }) => join(path, "src", at)));
  }
  return [...new Set(places)];
}

async function candidateAt(
  search: Search,
  around: Surroundings,
  row: Row,
  place: string,
): Promise<readonly Candidate[]> {
  const { key, robot, type, differs = null, question, proof, says, needs, files = [] } = row;
  const needed = await filesIn(search, around, place, needs);
  if (needed.length < needs.length) return [];
  if (says !== undefined && !says[1].test(await search.read(join(place, says[0])))) return [];
  const others = await filesIn(search, around, place, files);
  const unused: LeftOut[] = [];
  for (const each of row.leftOut ?? []) {
    const [pattern = "", why = ""] = each.split(": ");
    unused.push(...leftOut(await search.find(place, pattern), why));
  }
  const all = [...needed, ...others.filter(({ path }) => !needed.some((each) => each.path === path))];
  const isProven = proof === undefined || (await filesIn(search, around, place, [proof])).length > 0;
  const questions = isProven ? [] : [`is this computer such a robot's? It has ${place}, but not ${proof}`];
  if (question !== undefined) questions.push(question);
  return [
    candidate({ key, robot, type, differs, reason: `its files in ${place}`, questions, files: all, leftOut: unused }),
  ];
}
