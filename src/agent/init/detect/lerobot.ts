/** Robots that LeRobot drives, by the calibrations that it wrote. */
import { basename, dirname, join } from "node:path";

import { openDocument } from "../../../documents/yaml.ts";
import type { JointUnit } from "../../../manifest/catalog/ids.ts";
import { isObject } from "../../../platform/is-object.ts";
import { type Arm, armOf, type Calibration, rangesOf, readCalibration } from "./calibration.ts";
import {
  type Candidate,
  candidate,
  leftOut,
  type LeftOut,
  newestFirst,
  proposed,
  type Surroundings,
} from "./detection.ts";
import type { Entry, Search } from "./search.ts";

/** A calibration of an arm. */
interface Calibrated extends Entry {
  readonly arm: Arm;
  readonly id: string;
  readonly content: Calibration;
}

/** A robot that was calibrated: one arm, or left and right. */
interface Robot {
  /** The value of `--robot.id`; `None` without one. */
  readonly id: string;
  readonly arms: readonly Calibrated[];
  readonly modifiedMs: number;
}

/** What a file for `--config_path` says of the robot. */
interface Config extends Entry {
  readonly arm: Arm;
  readonly isPair: boolean;
  readonly id: string;
  readonly unit: JointUnit | null;
  /** Where it has LeRobot keep the calibration, if not in the usual folder. */
  readonly calibrationDirectory: string | null;
}

interface Found {
  readonly configs: readonly Config[];
  /** Kinds of arms that LeRobot has driven two of, as one robot: it makes a folder for that robot, which stays empty. */
  readonly pairs: ReadonlySet<string>;
  readonly leftOut: readonly LeftOut[];
}

export async function findLerobot(search: Search, around: Surroundings): Promise<readonly Candidate[]> {
  const trees = await calibrationTrees(search, around);
  const all: Calibrated[] = [];
  const pairs = new Set<string>();
  const unused: LeftOut[] = [];
  for (const tree of trees) {
    for (const { name } of await search.find(tree, "robots/bi_*")) pairs.add(armOf(name).key);
    all.push(...(await calibrationsIn(search, await search.find(tree, "robots/*/*.json"))));
    unused.push(...leftOut(await search.find(tree, "teleoperators/*"), "of leader arms, which no policy moves"));
  }
  // Before June 2025, in the checkout.
  for (const { path } of around.projects) {
    const files = await search.find(path, ".cache/calibration/*/*.json");
    all.push(
      ...(await calibrationsIn(
        search,
        files.filter(({ name }) => name.endsWith("_follower.json")),
      )),
    );
  }
  const broken = all.filter(({ content }) => content.kind === "other");
  unused.push(...leftOut(broken, "not a calibration of LeRobot, or an incomplete one"));
  const found: Found = { configs: await findConfigs(search, around), pairs, leftOut: unused };
  const usable = all.filter((each) => !broken.includes(each)).toSorted(newestFirst);
  const keys = new Set(usable.map(({ arm }) => arm.key));
  return [...keys].flatMap((key) =>
    candidatesOf(
      usable.filter(({ arm }) => arm.key === key),
      found,
    ),
  );
}

/** src/lerobot/utils/constants.py. The usual folder as well, because some set the variables only where they start LeRobot. */
async function calibrationTrees(search: Search, { homes, environment }: Surroundings): Promise<readonly string[]> {
  const trees = new Set<string>();
  for (const [index, home] of homes.entries()) {
    // sudo(8) takes the variables away.
    const profile = (await search.read(join(home, ".profile"))) + (await search.read(join(home, ".bashrc")));
    const set = (name: string) => {
      const written = [...profile.matchAll(new RegExp(`^[ \\t]*export ${name}=["']?([^"'\\s#;]+)`, "gm"))].at(-1)?.[1];
      return ((index === 0 ? environment[name] : undefined) ?? written)?.replace(/^(?:~(?=\/)|\$\{?HOME\}?)/, home);
    };
    const hub = set("HF_HOME") ?? join(home, ".cache/huggingface");
    trees.add(set("HF_LEROBOT_CALIBRATION") ?? join(set("HF_LEROBOT_HOME") ?? join(hub, "lerobot"), "calibration"));
    trees.add(join(home, ".cache/huggingface/lerobot/calibration"));
  }
  return [...trees];
}

async function calibrationsIn(search: Search, files: readonly Entry[]): Promise<readonly Calibrated[]> {
  const calibrations: Calibrated[] = [];
  for (const file of files) {
    const id = file.name.replace(/(?:_follower)?\.json$/, "");
    const content = readCalibration(await search.read(file.path));
    calibrations.push({ ...file, arm: armOf(basename(dirname(file.path))), id, content });
  }
  return calibrations;
}

/** @param all of one kind of arm, newest first. */
function candidatesOf(all: readonly Calibrated[], found: Found): readonly Candidate[] {
  const current = all.filter(({ content }) => content.kind === "current");
  const used = current.length > 0 ? current : all;
  const newest = used.filter(({ id }, index) => used.findIndex((other) => other.id === id) === index);
  const renamed = used.filter((each) => !newest.includes(each));
  const unused = [
    ...leftOut(renamed, "older than the calibration with the same id in a folder of another name"),
    ...leftOut(
      all.filter((each) => !used.includes(each)),
      "LeRobot before June 2025 wrote it, and newer ones do not read it",
    ),
    ...found.leftOut,
  ];
  const paired = newest.flatMap((left) => pairOf(left, newest));
  const singles = newest.filter((each) => !paired.some(({ arms }) => arms.includes(each)));
  const single = singles.map((each): Robot => ({ id: each.id, arms: [each], modifiedMs: each.modifiedMs }));
  const configs = found.configs.filter(({ arm }) => arm.key === newest[0]?.arm.key);
  const config = configs.length === 1 ? configs[0] : undefined;
  const named = [...paired, ...single].filter(({ id, arms }) => id === config?.id && config.isPair === arms.length > 1);
  const choices = named.length > 0 ? [named] : [paired, single];
  return choices.flatMap((robots) => candidateOf(robots, { ...found, configs, leftOut: unused }, config));
}

/** bi_so_follower.py calls the arms of ID `ID_left` and `ID_right`. */
function pairOf(left: Calibrated, all: readonly Calibrated[]): readonly Robot[] {
  const [, stem] = /^(.*?_?)left$/.exec(left.id) ?? [];
  const right = all.find(({ id }) => stem !== undefined && id === `${stem}right`);
  if (right === undefined || stem === undefined) return [];
  const id = stem.replace(/_$/, "");
  return [{ id, arms: [left, right], modifiedMs: Math.max(left.modifiedMs, right.modifiedMs) }];
}

/** @param robots what it may be: the newest is proposed. */
function candidateOf(robots: readonly Robot[], found: Found, config: Config | undefined): readonly Candidate[] {
  const [robot, ...others] = robots.toSorted(newestFirst);
  const arm = robot?.arms[0]?.arm;
  if (robot === undefined || arm === undefined) return [];
  const isPair = robot.arms.length > 1;
  const arms = robot.arms.map((each, index) => ({ each, side: isPair ? (index === 0 ? "left_" : "right_") : "" }));
  const isOld = arms.some(({ each }) => each.content.kind === "old");
  const ranges = arms.flatMap(({ each, side }) => rangesOf(arm, each.content, `${side}arm`) ?? []);
  const files = arms.map(({ each, side }) => proposed(each, `${side.replace("_", " ")}calibration of LeRobot`));
  const formerZero = isOld ? "degrees from LeRobot's former zero pose, not from the middle of the travel" : null;
  return [
    candidate({
      key: isPair ? `two ${arm.key}` : arm.key,
      robot: isPair ? `two arms: ${arm.robot}` : arm.robot,
      type: isPair ? (arm.pairType ?? null) : arm.type,
      differs: arm.differs ?? formerZero,
      reason: `LeRobot's calibration in ${dirname(robot.arms[0]?.path ?? "")}`,
      questions: questionsOf([robot, ...others], arm, found, config),
      files: config === undefined ? files : [...files, proposed(config, "configuration for LeRobot's --config_path")],
      leftOut: [
        ...leftOut(
          others.flatMap((each) => each.arms),
          "of another --robot.id",
        ),
        ...leftOut(config === undefined ? found.configs : [], "one of several configurations for LeRobot"),
        ...found.leftOut,
      ],
      ranges: ranges.length === arms.length ? ranges : [],
      unit: config?.unit ?? null,
      advice: config === undefined ? CONFIG_ADVICE : null,
    }),
  ];
}

const CONFIG_ADVICE =
  "cameras and units given to LeRobot on its command line are in no file: write them to one, start it with --config_path=FILE, and list it";

function questionsOf(robots: readonly Robot[], arm: Arm, found: Found, config: Config | undefined): readonly string[] {
  const ids = robots.map(({ id }) => id).join(", ");
  const isPair = robots.some(({ arms }) => arms.length > 1);
  const isNamed = config !== undefined && robots.some(({ id }) => id === config.id);
  const isOld = robots.some(({ arms }) => arms.some(({ content }) => content.kind === "old"));
  const directory = config?.calibrationDirectory ?? null;
  return [
    ...(isOld ? ["does it run with a LeRobot from before June 2025? Newer ones do not read this calibration"] : []),
    ...(robots.length > 1 ? [`which --robot.id is this robot's? ${ids}, the newest first`] : []),
    ...(config !== undefined && !isNamed
      ? [`which calibration is that of ${config.id}, which ${config.path} names?`]
      : []),
    ...(directory !== null ? [`which calibration is used? ${config?.path} names ${directory} for it`] : []),
    ...(isPair !== found.pairs.has(arm.key) && !isNamed && !isOld
      ? ["does it have one arm, or two that are one robot?"]
      : []),
  ];
}

/** Where people keep files for `--config_path`; LeRobot has no usual place. */
async function findConfigs(search: Search, { homes, projects }: Surroundings): Promise<readonly Config[]> {
  const checkouts = projects.filter(({ name }) => /lerobot/i.test(name)).map(({ path }) => path);
  const configs: Config[] = [];
  for (const folder of [...homes, ...checkouts]) {
    for (const pattern of ["*.yaml", "*.yml", "*.json", "config*/*.yaml", "config*/*.json"]) {
      for (const file of await search.find(folder, pattern)) {
        const config = file.kind === "file" ? readConfig(file, await search.read(file.path)) : null;
        if (config !== null) configs.push(config);
      }
    }
  }
  return configs;
}

/** `robot: {type: so101_follower, id: …, use_degrees: …, cameras: …}`, as YAML or JSON. */
function readConfig(file: Entry, text: string): Config | null {
  if (!/\brobot["']?:/.test(text)) return null;
  const opening = openDocument(Buffer.from(text), { subject: "configuration", sizeLimitBytes: Infinity });
  const value = opening.kind === "document" ? opening.document.root.value : null;
  const robot = isObject(value) ? value["robot"] : null;
  if (!isObject(robot) || typeof robot["type"] !== "string") return null;
  const { type, id, calibration_dir: directory } = robot;
  const left = robot["left_arm_config"];
  const isDegrees = (isObject(left) ? left : robot)["use_degrees"];
  return {
    ...file,
    arm: armOf(type),
    isPair: type.startsWith("bi_"),
    id: typeof id === "string" ? id : "None",
    unit: isDegrees === true ? "deg" : isDegrees === false ? "calibrated_range" : null,
    calibrationDirectory: typeof directory === "string" ? directory : null,
  };
}
