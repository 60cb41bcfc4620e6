/** Robots that ROS drives: what is in a workspace, and what ur_calibration wrote of a Universal Robot. */
import { dirname, join } from "node:path";

import { openDocument } from "../../../documents/yaml.ts";
import { isObject } from "../../../platform/is-object.ts";
import {
  type Candidate,
  candidate,
  leftOut,
  type LeftOut,
  newestFirst,
  proposed,
  type ProposedFile,
  type Surroundings,
} from "./detection.ts";
import type { Entry, Search } from "./search.ts";

/** A vendor's packages. */
interface Vendor {
  readonly key: string;
  /** What the names of its packages begin with. */
  readonly prefix: string;
  readonly robot: string;
  readonly type: string | null;
  /** The model of that type, and what differs for others. */
  readonly model?: string;
  readonly differs?: string;
  /** Finds the model in launch files, scripts, parameters and descriptions. */
  readonly named?: RegExp;
  readonly question?: string;
  /** Each `path: what it decides`, with `*` for the model. */
  readonly files: readonly string[];
}

const VENDORS: readonly Vendor[] = [
  // UniversalRobots/Universal_Robots_ROS2_Driver and …_Description
  {
    key: "ur",
    prefix: "ur_",
    robot: "Universal Robots arm",
    type: "ur.ur5e-2f85.v1",
    model: "ur5e",
    differs: "limits of its own: joint_limits.yaml of ur_description",
    // `ur_type:=ur5e`, `name="ur_type" default="ur5e"`, `"ur_type", default_value="ur5e"`
    named: /\bur_type["']?[\s:=,]+(?:default(?:_value)?=)?["']?(ur\d+e?)\b/g,
    files: ["ur_description/config/*/joint_limits.yaml: limits of this model"],
  },
  // frankarobotics/franka_ros2 (`robot_type`, formerly `arm_id`) and franka_description
  {
    key: "franka",
    prefix: "franka_",
    robot: "Franka arm",
    type: "droid.franka-panda.v1",
    differs: "limits, gripper, rate and control mode of its own: this is not DROID",
    named: /^[^#\n]*\b(?:robot_type|arm_id)["']?[\s:=,]+(?:default(?:_value)?=)?["']?(fr3\w*|fer|fp3|panda)\b/gm,
    files: [
      "franka_description/robots/*/joint_limits.yaml: limits of this model",
      "franka_description/robots/*/kinematics.yaml: lengths of this model",
      "franka_bringup/config/franka.config.yaml: model, address and gripper",
    ],
  },
  // enactic/openarm_ros2
  {
    key: "openarm",
    prefix: "openarm_",
    robot: "OpenArm",
    type: null,
    question: "does it have one arm or two?",
    files: ["openarm_bimanual_moveit_config/config/joint_limits.yaml: limits of the joints"],
  },
];

/** Repositories and packages with the same files on all robots. */
const SHARED =
  /^(?:(?:ur|franka|openarm|interbotix|reachy2?|stretch|robotiq|realsense2?|moveit2?|ros2?|kortex|xarm|universal_robots)_|(?:mobile[-_])?aloha$)/i;
/** The files of a package that decide how a command becomes motion, in the order of the proposal. */
const KINDS: readonly (readonly [pattern: RegExp, label: string])[] = [
  [/joint_limits\.ya?ml$/, "limits of the joints"],
  [/\.(?:urdf|xacro)$/, "description of the robot, or its ros2_control"],
  [/(?:controllers?|ros2_control)[^/]*\.ya?ml$/, "what controllers make of commands"],
  [/camera_info.*\.ya?ml$/, "a camera's intrinsics"],
];
const OWN_FILES = 32;
const TEXT_FILES = 200;

interface Workspace {
  /** All files of all packages. */
  readonly files: readonly Entry[];
  readonly texts: string;
  /** From the person's own packages. */
  readonly proposals: readonly ProposedFile[];
  readonly leftOut: readonly LeftOut[];
}

export async function findRos(search: Search, around: Surroundings): Promise<readonly Candidate[]> {
  const workspace = await readWorkspaces(search, around);
  const calibrations = await findCalibrations(search, around, workspace);
  const found: Candidate[] = [];
  for (const vendor of VENDORS) {
    const fitting = vendor.key === "ur" ? calibrations : [];
    const isThere = workspace.files.some(({ path }) => path.includes(`/${vendor.prefix}`));
    const named = vendor.named === undefined ? [] : [...workspace.texts.matchAll(vendor.named)];
    const models = [...new Set(named.map(([, model]) => model ?? ""))];
    if (isThere || models.length + fitting.length > 0) {
      found.push(await robotOf(vendor, models, fitting, workspace, search, around));
    }
  }
  return found.length > 0 ? found : describedRobot(workspace);
}

async function readWorkspaces(search: Search, { homes, projects }: Surroundings): Promise<Workspace> {
  // By path, because ~/src may hold workspaces with a src of their own.
  const files = new Map<string, Entry>();
  const own: Entry[] = [];
  const shared = new Set<string>();
  for (const project of projects) {
    const source = join(project.path, "src");
    const walked = await search.walk(source);
    const packages = new Set(walked.filter(({ name }) => name === "package.xml").map(({ path }) => dirname(path)));
    for (const file of walked) {
      const folders = dirname(file.path)
        .slice(source.length + 1)
        .split("/");
      if (!folders.some((_, index) => packages.has(join(source, ...folders.slice(0, index + 1))))) continue;
      if (files.has(file.path)) continue;
      files.set(file.path, file);
      const index = folders.findIndex((name) => SHARED.test(name));
      if (index === -1) own.push(file);
      else shared.add(join(source, ...folders.slice(0, index + 1)));
    }
  }
  const texts: string[] = [];
  const speaking = own.filter(({ name }) => /\.(?:launch|py|xml|sh|xacro|urdf|ya?ml)$/.test(name)).slice(0, TEXT_FILES);
  const configuration = [...files.values()].filter(({ name }) => name === "franka.config.yaml");
  for (const { path } of [...speaking, ...configuration]) texts.push(await search.read(path));
  // Where camera_info_manager keeps them by default.
  for (const home of homes) own.push(...(await search.find(home, ".ros/camera_info/*.yaml")));
  const sorted = own.toSorted(newestFirst);
  const proposals = KINDS.flatMap(([pattern, label]) =>
    sorted.filter(({ path }) => pattern.test(path)).map((file) => proposed(file, label)),
  );
  const unused = leftOut(proposals.slice(OWN_FILES), `beyond the first ${OWN_FILES} files of the workspace`);
  for (const path of shared) unused.push({ path, reason: "the same on all robots; list what you changed in it" });
  return {
    files: [...files.values()],
    texts: texts.join("\n"),
    proposals: proposals.slice(0, OWN_FILES),
    leftOut: unused,
  };
}

/** @param named models in the workspace. @param calibrations newest first. */
async function robotOf(
  vendor: Vendor,
  named: readonly string[],
  [calibration, ...older]: readonly UrCalibration[],
  { files, texts, proposals, leftOut: unused }: Workspace,
  search: Search,
  { root }: Surroundings,
): Promise<Candidate> {
  const { key, robot, type, differs = null, question, prefix } = vendor;
  const models = calibration?.models.filter((each) => named.length === 0 || named.includes(each)) ?? named;
  const model = models.length === 1 ? models[0] : undefined;
  const fits = calibration === undefined ? [] : [`its calibration fits ${calibration.models.join(" or ") || "none"}`];
  const said = [...fits, ...named.map((each) => `${each} is named`)].join(", ") || "no file says so";
  const own: ProposedFile[] = [];
  for (const each of vendor.files) {
    const [pattern = "", label = ""] = each.split(": ");
    if (pattern.includes("*") && model === undefined) continue;
    const path = pattern.replace("*", model ?? "");
    const built = files.filter((file) => file.path.endsWith(`/${path}`));
    // Those of Debian packages.
    const [file] = [...built, ...(await search.find(root, `opt/ros/*/share/${path}`))];
    if (file !== undefined) own.push(proposed(file, label));
  }
  const isUr5e = model === "ur5e";
  return candidate({
    key,
    robot: model === undefined ? robot : `${robot}, ${model}`,
    type,
    differs: model !== undefined && model === vendor.model ? null : differs,
    reason: calibration === undefined ? `packages ${prefix}* in a workspace` : `the lengths in ${calibration.path}`,
    questions: [
      ...(vendor.named !== undefined && model === undefined ? [`which model is it? ${said}`] : []),
      ...(question === undefined ? [] : [question]),
      ...(isUr5e && !/2f_?85/i.test(texts) ? ["is its gripper a Robotiq 2F-85? No file says so"] : []),
      ...(key === "ur" && calibration === undefined ? ["where is what ur_calibration's launch file wrote?"] : []),
    ],
    files: [
      ...(calibration === undefined ? [] : [proposed(calibration, "lengths of this robot, by ur_calibration")]),
      ...own,
      ...proposals.filter(({ path }) => !own.some((each) => each.path === path)),
    ],
    leftOut: [...leftOut(older, "older than the proposed calibration"), ...unused],
  });
}

/** A robot that only its description names. */
function describedRobot({ texts, proposals, leftOut: unused }: Workspace): readonly Candidate[] {
  const description = proposals.find(({ path }) => /\.(?:urdf|xacro)$/.test(path));
  if (description === undefined) return [];
  const names = new Set(
    [...texts.matchAll(/<robot\b[^>]{0,500}?\bname="([\w .-]{1,64})"/g)].map(([, name]) => name ?? ""),
  );
  const questions = [`what type is it? Its description names ${[...names].join(", ") || "none"}`];
  const known = { key: "ros", robot: "a robot of your own", type: null, reason: `the description ${description.path}` };
  return [candidate({ ...known, questions, files: proposals, leftOut: unused })];
}

interface UrCalibration extends Entry {
  /** With an arm of its lengths. */
  readonly models: readonly string[];
}

/**
 * Models, height of the shoulder and length of the upper arm in m: config/MODEL/default_kinematics.yaml of ur_description. A calibration
 * differs by a few mm at most. UR7e and UR12e have the arms of UR5e and UR10e.
 */
const UR_ARMS: readonly (readonly [models: readonly string[], shoulder: number, upperArm: number])[] = [
  [["ur3", "ur3e"], 0.1519, 0.2436],
  [["ur5"], 0.0892, 0.425],
  [["ur5e", "ur7e"], 0.1625, 0.425],
  [["ur10"], 0.1273, 0.612],
  [["ur10e", "ur12e"], 0.1807, 0.6127],
  [["ur16e"], 0.1807, 0.4784],
  [["ur20"], 0.2363, 0.862],
  [["ur30"], 0.2363, 0.637],
];
const TOLERANCE_M = 0.01;

/** What ur_calibration wrote, newest first; its documentation has it write to the home. */
async function findCalibrations(search: Search, { homes }: Surroundings, { files }: Workspace) {
  const found: UrCalibration[] = [];
  const all = [...files];
  for (const home of homes) all.push(...(await search.find(home, "*.yaml")));
  for (const file of all.filter(({ name }) => /calib|kinematics/.test(name) && name !== "default_kinematics.yaml")) {
    const text = await search.read(file.path);
    if (/hash:\s*["']?calib_/.test(text)) found.push({ ...file, models: modelsOf(text) });
  }
  return found.toSorted(newestFirst);
}

function modelsOf(text: string): readonly string[] {
  const opening = openDocument(Buffer.from(text), { subject: "configuration", sizeLimitBytes: Infinity });
  const value = opening.kind === "document" ? opening.document.root.value : null;
  const kinematics = isObject(value) ? value["kinematics"] : null;
  const shoulder = lengthOf(kinematics, "shoulder", "z");
  const upperArm = lengthOf(kinematics, "forearm", "x");
  const isNear = (one: number, other: number) => Math.abs(one - other) < TOLERANCE_M;
  return UR_ARMS.filter(([, height, length]) => isNear(height, shoulder) && isNear(length, upperArm)).flatMap(
    ([models]) => models,
  );
}

/** NaN where it is not written. */
function lengthOf(kinematics: unknown, link: string, axis: string): number {
  const member = isObject(kinematics) ? kinematics[link] : null;
  return Math.abs(Number(isObject(member) ? member[axis] : Number.NaN));
}
