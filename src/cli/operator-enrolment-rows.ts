import { DRY_RUN_FLAG, LIST_FLAGS, type OperatorRow, TIMEOUT_FLAG, YES_FLAG } from "./operator-flags.ts";

/** Enrolments of robot computers, the computers that are enrolled, and the end of robots. */
export const enrolmentRows: readonly OperatorRow[] = [
  {
    name: "robots pending",
    summary: "list the robot computers that wait for approval",
    flags: LIST_FLAGS,
    examples: ["robot-policy robots pending", "robot-policy robots pending --watch"],
    load: async () => (await import("../operator/enrolments/pending.ts")).robotsPending,
  },
  {
    name: "robots approve",
    summary: "approve the computer that shows this code, after showing who asks",
    argument: "CODE",
    flags: [
      { flag: "--name <name>", summary: "name of the robot (default: the name that the computer asks for)" },
      {
        flag: "--region <region>",
        summary: "region of the robot (default: the region that the computer says)",
        names: "regions",
      },
      { flag: "--site <site>", summary: "site of the robot (default: the site that the computer says)" },
      {
        flag: "--label <name=value...>",
        summary: "label of the robot, beside those that the computer says; repeat for more",
      },
      {
        flag: "--replace <robot>",
        summary: "replace the computer of this robot, also if it is online",
        names: "robots",
      },
      {
        flag: "--wait",
        summary: "wait until its robot is registered: exit 0, or 6 if it is frozen, 1 after --timeout",
      },
      TIMEOUT_FLAG,
      YES_FLAG,
      DRY_RUN_FLAG,
    ],
    examples: [
      "robot-policy robots approve WXYZ-2345 --wait",
      "robot-policy robots approve WXYZ-2345 --name arm-7 --region us-west-2 --site plant-1 --label cell=4 --yes",
      "robot-policy robots approve WXYZ-2345 --replace arm-7",
    ],
    load: async () => (await import("../operator/enrolments/approve.ts")).robotsApprove,
  },
  {
    name: "robots deny",
    summary: "deny the computer that shows this code",
    argument: "CODE",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy robots deny WXYZ-2345"],
    load: async () => (await import("../operator/enrolments/pending.ts")).robotsDeny,
  },
  {
    name: "robots installation",
    summary: "show the computer that is enrolled as this robot, and its credential",
    argument: "ROBOT",
    examples: ["robot-policy robots installation arm-7"],
    load: async () => (await import("../operator/robots/installation.ts")).robotsInstallation,
  },
  {
    name: "robots thaw",
    summary: "let a robot that was frozen by a false alarm work again",
    argument: "ROBOT",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy robots thaw arm-7"],
    load: async () => (await import("../operator/robots/installation.ts")).robotsThaw,
  },
  {
    name: "robots allow-recovery",
    summary: "let a robot that was away for long renew its expired credential",
    argument: "ROBOT",
    flags: [
      { flag: "--times <number>", summary: "how often, 0 to 100; restarts the recovery window", required: true },
      DRY_RUN_FLAG,
    ],
    examples: ["robot-policy robots allow-recovery arm-7 --times 5"],
    load: async () => (await import("../operator/robots/installation.ts")).robotsAllowRecovery,
  },
  {
    name: "robots rename",
    summary: "give a robot another name; its id, computer, deployments and fleets stay",
    argument: "ROBOT NAME",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy robots rename arm-7 arm-8"],
    load: async () => (await import("../operator/robots/change.ts")).robotsRename,
  },
  {
    name: "robots remove",
    aliases: ["rm"],
    summary: "remove a robot: its computer loses its credential, and its name is free",
    argument: "ROBOT",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy robots remove arm-7", "robot-policy robots remove arm-7 --dry-run"],
    load: async () => (await import("../operator/robots/change.ts")).robotsRemove,
  },
];
