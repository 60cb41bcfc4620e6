import { FLEET_STATUSES, READINESS_MODES } from "../api/fleets.ts";
import { ROBOT_TEXT_NAMES, type RobotTextName } from "../api/robot-texts.ts";
import { TEXT_FLAGS } from "../operator/robots/text-flags.ts";
import type { FlagRow } from "./command-table.ts";
import {
  DRY_RUN_FLAG,
  labelFlag,
  LIST_FLAGS,
  type OperatorRow,
  robotFlag,
  TIMEOUT_FLAG,
  YES_FLAG,
} from "./operator-flags.ts";

/** Select robots. */
const SELECTOR_FLAGS: readonly FlagRow[] = [
  { flag: "--site <site>", summary: "robots at this site", names: "sites" },
  { flag: "--region <region>", summary: "robots in this region", names: "regions" },
  { flag: "--type <type>", summary: "robots of this type", names: "types" },
  labelFlag("robots with this label; repeatable, all labels must match"),
];

const WAIT_FLAGS: readonly FlagRow[] = [
  {
    flag: "--wait",
    summary: "wait until it is ready: exit 0, or 6 if it needs attention, 7 if another replaces it, 1 after --timeout",
  },
  TIMEOUT_FLAG,
];

export const robotRows: readonly OperatorRow[] = [
  {
    name: "robots list",
    aliases: ["ls"],
    summary: "list the registered robots, oldest first",
    flags: [
      ...SELECTOR_FLAGS,
      { flag: "--online", summary: "only robots that are online", excludes: ["--offline"] },
      { flag: "--offline", summary: "only enrolled robots that are offline" },
      { flag: "--digest", summary: "show the configuration digest, and when it changed" },
      {
        flag: "--sort <column>",
        summary: "sort by this column; added: first registration; changed: latest change first",
        choices: ["name", "type", "region", ...ROBOT_TEXT_NAMES, "added", "changed"],
      },
      ...LIST_FLAGS,
    ],
    examples: [
      "robot-policy robots list --site plant-1 --label cell=packing",
      "robot-policy robots list --offline",
      "robot-policy robots list --digest --sort changed",
    ],
    load: async () => (await import("../operator/robots/list.ts")).robotsList,
  },
  {
    name: "robots show",
    summary: "show a robot, by name or id",
    argument: "ROBOT",
    flags: [
      { flag: "--history", summary: "show its registrations, what changed, and who sent them" },
      { flag: "--contract", summary: "show the cameras and axes that it registered" },
    ],
    examples: ["robot-policy robots show arm-7 --history", "robot-policy robots show arm-7 --contract"],
    load: async () => (await import("../operator/robots/show.ts")).robotsShow,
  },
  {
    name: "robots setup",
    summary: "register a robot that runs no agent; a registered robot keeps what is not given again",
    flags: [
      { flag: "--from <file>", summary: "YAML file with these values, or - for stdin; flags take precedence" },
      { flag: "--name <name>", summary: "unique, stable name of the robot" },
      { flag: "--type <type>", summary: "robot type id", names: "catalog" },
      { flag: "--region <region>", summary: "cloud region nearest to the robot", names: "regions" },
      ...ROBOT_TEXT_NAMES.flatMap(textFlags),
      labelFlag("label of the robot; repeatable, together they replace its labels"),
      { flag: "--clear-labels", summary: "remove its labels", excludes: ["--label"] },
      {
        flag: "--file <file>",
        summary: "configuration file to compute the digest from; repeatable, in digest order",
        repeats: true,
      },
      {
        flag: "--configuration-digest <digest>",
        summary: "digest of the configuration files, as robot-policy-agent digest prints it",
        excludes: ["--file"],
      },
      { flag: "--manifest <file>", summary: "robot manifest with its type, configuration files and contract" },
      {
        flag: "--replace <robot>",
        summary: "replace the enrolled computer of this robot, also if it is online",
        names: "robots",
      },
      YES_FLAG,
      DRY_RUN_FLAG,
    ],
    examples: [
      "robot-policy robots setup --name arm-7 --type lerobot.so101-follower.v1 --region us-west-2 --file calibration.json",
      "robot-policy robots setup --from arm-7.yaml --dry-run",
      "robot-policy robots setup --name cell-4 --region us-west-2 --manifest robot-manifest.yaml",
    ],
    load: async () => (await import("../operator/robots/setup.ts")).robotsSetup,
  },
];

export const fleetRows: readonly OperatorRow[] = [
  {
    name: "fleets list",
    aliases: ["ls"],
    summary: "list the fleets, why they are not ready, and what to do",
    flags: [
      { flag: "--status <status>", summary: "only fleets with this status", choices: FLEET_STATUSES },
      {
        flag: "--sort <column>",
        summary:
          "sort by this column; status: fleets that need attention first; ready: smallest share of ready robots first",
        choices: ["name", "status", "ready", "model"],
      },
      ...LIST_FLAGS,
    ],
    examples: [
      "robot-policy fleets list --sort status",
      "robot-policy fleets list --status blocked --watch",
      "robot-policy fleets list --columns name,action",
    ],
    load: async () => (await import("../operator/fleets/list.ts")).fleetsList,
  },
  {
    name: "fleets show",
    summary: "show a fleet, by name or id, and why it is not ready",
    argument: "FLEET",
    examples: ["robot-policy fleets show packing"],
    load: async () => (await import("../operator/fleets/show.ts")).fleetsShow,
  },
  {
    name: "fleets create",
    summary: "create a fleet of robots that share a model",
    flags: [
      { flag: "--from <file>", summary: "YAML file with these values, or - for stdin; flags take precedence" },
      { flag: "--name <name>", summary: "name of the fleet" },
      { flag: "--model <model>", summary: "model by its slug, or checkpoint by its id", names: "models" },
      {
        ...robotFlag("member, by name or id; repeatable"),
        excludes: ["--site", "--region", "--type", "--label"],
      },
      ...SELECTOR_FLAGS,
      {
        flag: "--peak <number>",
        summary: "maximum number of robots that are active at the same time (default: the number of --robot)",
      },
      {
        flag: "--mode <mode>",
        summary: "when capacity is kept ready (default: always_ready)",
        choices: READINESS_MODES,
      },
      {
        flag: "--window <start/end>",
        summary: "operating window, which implies the mode scheduled; repeatable",
        repeats: true,
      },
      ...WAIT_FLAGS,
      DRY_RUN_FLAG,
    ],
    examples: [
      "robot-policy fleets create --name packing --model pi0.5 --robot arm-1 --robot arm-2 --wait",
      "robot-policy fleets create --name night --model pi0.5 --site plant-1 --peak 4 --window 2030-01-31T20:00:00Z/2030-02-01T04:00:00Z",
      "robot-policy fleets create --from fleet.yaml --dry-run",
    ],
    load: async () => (await import("../operator/fleets/create.ts")).fleetsCreate,
  },
  {
    name: "fleets update-model",
    summary: "update the model of a fleet; the old one serves until the new one is ready",
    argument: "FLEET MODEL",
    flags: [...WAIT_FLAGS, YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy fleets update-model packing pi1 --wait --timeout 1h"],
    load: async () => (await import("../operator/fleets/change.ts")).fleetsUpdateModel,
  },
  {
    name: "fleets reconcile",
    summary: "select the robots of a fleet again: its selector once more, or without robots that were removed",
    argument: "FLEET",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy fleets reconcile packing"],
    load: async () => (await import("../operator/fleets/change.ts")).fleetsReconcile,
  },
  {
    name: "fleets remove",
    aliases: ["rm"],
    summary: "delete a fleet; its robots stay",
    argument: "FLEET",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy fleets remove packing"],
    load: async () => (await import("../operator/fleets/change.ts")).fleetsRemove,
  },
];

export const deployRows: readonly OperatorRow[] = [
  {
    name: "deploy",
    summary: "deploy a model to a robot",
    argument: "MODEL",
    flags: [robotFlag("robot, by name or id"), ...WAIT_FLAGS, YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy deploy pi0.5 --robot arm-7 --wait"],
    load: async () => (await import("../operator/deployments/deploy.ts")).deploy,
  },
];

function textFlags(text: RobotTextName): readonly FlagRow[] {
  const { flag, clearFlag } = TEXT_FLAGS[text];
  return [
    { flag: `${flag} <${text}>`, summary: `${text} of the robot`, names: `${text}s` },
    { flag: clearFlag, summary: `remove its ${text}`, excludes: [flag] },
  ];
}
