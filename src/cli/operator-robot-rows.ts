import { FLEET_STATUSES, READINESS_MODES } from "../api/fleets.ts";
import type { FlagRow } from "./command-table.ts";
import type { OperatorRow } from "./operator-flags.ts";
import { DRY_RUN_FLAG, LIST_FLAGS, YES_FLAG } from "./operator-flags.ts";

/** What robots have in common. */
const SELECTOR_FLAGS: readonly FlagRow[] = [
  { flag: "--site <site>", summary: "those at this site", names: "sites" },
  { flag: "--region <region>", summary: "those in this region", names: "regions" },
  { flag: "--type <type>", summary: "those of this robot type", names: "types" },
  {
    flag: "--label <name=value>",
    summary: "those with this label; again for more, all of which must match",
    repeats: true,
    names: "labels",
  },
];

const WAIT_FLAGS: readonly FlagRow[] = [
  {
    flag: "--wait",
    summary:
      "wait until it is ready: exit 0, or 6 if it needs a person, 7 if another takes its place, 1 after --timeout",
  },
  { flag: "--timeout <time>", summary: "how long at most: 90s, 10m, 2h (default: 30m)" },
];

export const robotRows: readonly OperatorRow[] = [
  {
    name: "robots list",
    aliases: ["ls"],
    summary: "list the registered robots, oldest first",
    flags: [
      ...SELECTOR_FLAGS,
      { flag: "--digest", summary: "with the digest of their configuration, and when it changed" },
      {
        flag: "--sort <column>",
        summary: "by this column; added is when it first registered; changed puts the last change first",
        choices: ["name", "type", "region", "site", "added", "changed"],
      },
      ...LIST_FLAGS,
    ],
    examples: [
      "robot-policy robots list --site plant-1 --label cell=packing",
      "robot-policy robots list --digest --sort changed",
    ],
    load: async () => (await import("../operator/robots/list.ts")).robotsList,
  },
  {
    name: "robots show",
    summary: "show one robot, by its name or id",
    argument: "ROBOT",
    names: ["robots"],
    flags: [
      { flag: "--history", summary: "its registrations, with what changed and by whom" },
      { flag: "--contract", summary: "its cameras and axes, as it registered them" },
    ],
    examples: ["robot-policy robots show arm-7 --history", "robot-policy robots show arm-7 --contract"],
    load: async () => (await import("../operator/robots/show.ts")).robotsShow,
  },
  {
    name: "robots setup",
    summary: "register a robot on which no agent runs; one that is registered keeps what is not given again",
    flags: [
      { flag: "--from <file>", summary: "YAML file that says it, or - for stdin; flags replace what it says" },
      { flag: "--name <name>", summary: "unique, stable name of the robot" },
      { flag: "--type <type>", summary: "its robot type id", names: "catalog" },
      { flag: "--region <region>", summary: "the cloud region nearest to it", names: "regions" },
      { flag: "--site <site>", summary: "the site it is at", names: "sites" },
      { flag: "--clear-site", summary: "it is at no site any more" },
      {
        flag: "--label <name=value>",
        summary: "a label of it, in place of all it had; again for more",
        repeats: true,
        names: "labels",
      },
      { flag: "--clear-labels", summary: "it has no labels any more" },
      {
        flag: "--file <file>",
        summary: "a configuration file to make the digest of; again for more, in order",
        repeats: true,
      },
      { flag: "--configuration-digest <digest>", summary: "the digest itself, as robot-policy-agent digest prints it" },
      { flag: "--manifest <file>", summary: "robot manifest with its type, configuration files and contract" },
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
    summary: "list the fleets, with what keeps them from being ready and what to do",
    flags: [
      { flag: "--status <status>", summary: "in this state alone", choices: FLEET_STATUSES },
      {
        flag: "--sort <column>",
        summary: "by this column; status puts those first that need a person, ready those with the fewest robots ready",
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
    summary: "show one fleet, by its name or id: why it is ready or not",
    argument: "FLEET",
    names: ["fleets"],
    flags: [],
    examples: ["robot-policy fleets show packing"],
    load: async () => (await import("../operator/fleets/show.ts")).fleetsShow,
  },
  {
    name: "fleets create",
    summary: "create a fleet of robots that share a model",
    flags: [
      { flag: "--from <file>", summary: "YAML file that says it, or - for stdin; flags replace what it says" },
      { flag: "--name <name>", summary: "name of the fleet" },
      { flag: "--model <model>", summary: "model by its slug, or checkpoint by its id", names: "models" },
      { flag: "--robot <robot>", summary: "a member, by name or id; again for more", repeats: true, names: "robots" },
      ...SELECTOR_FLAGS,
      { flag: "--peak <number>", summary: "robots that are active at the same time, at most (default: those named)" },
      { flag: "--mode <mode>", summary: "when capacity is kept (default: always_ready)", choices: READINESS_MODES },
      {
        flag: "--window <start/end>",
        summary: "an operating window, which makes the mode scheduled; again for more",
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
    summary: "roll another model out to a fleet; the old one serves until the new one is ready",
    argument: "FLEET MODEL",
    names: ["fleets", "models"],
    flags: [...WAIT_FLAGS, YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy fleets update-model packing pi1 --wait --timeout 1h"],
    load: async () => (await import("../operator/fleets/update-model.ts")).fleetsUpdateModel,
  },
];

export const deployRows: readonly OperatorRow[] = [
  {
    name: "deploy",
    summary: "have one robot run a model",
    argument: "MODEL",
    names: ["models"],
    flags: [
      { flag: "--robot <robot>", summary: "the robot, by name or id", repeats: true, names: "robots" },
      ...WAIT_FLAGS,
      YES_FLAG,
      DRY_RUN_FLAG,
    ],
    examples: ["robot-policy deploy pi0.5 --robot arm-7 --wait"],
    load: async () => (await import("../operator/deployments/deploy.ts")).deploy,
  },
];
