import { DEPLOYMENT_STATUSES } from "../api/deployments.ts";
import { GENERAL_SCOPES } from "../api/wire/scopes.ts";
import type { FlagRow } from "./command-table.ts";
import {
  COLUMN_FLAGS,
  DRY_RUN_FLAG,
  labelFlag,
  LIST_FLAGS,
  type OperatorRow,
  robotFlag,
  YES_FLAG,
} from "./operator-flags.ts";

/** Models, and what runs where. */
export const deploymentRows: readonly OperatorRow[] = [
  {
    name: "deployments list",
    aliases: ["ls"],
    summary: "list the deployments",
    flags: [
      robotFlag("only on this robot, by name or id; repeatable"),
      { flag: "--model <model>", summary: "only of this model", names: "models" },
      { flag: "--status <status>", summary: "only with this status", choices: DEPLOYMENT_STATUSES },
      { flag: "--all", summary: "include retired deployments" },
      ...LIST_FLAGS,
    ],
    examples: ["robot-policy deployments list", "robot-policy deployments list --status failed --watch"],
    load: async () => (await import("../operator/deployments/deployments.ts")).deploymentsList,
  },
  {
    name: "deployments show",
    summary: "show a deployment, by its id or its robot",
    argument: "DEPLOYMENT",
    examples: ["robot-policy deployments show arm-7"],
    load: async () => (await import("../operator/deployments/deployments.ts")).deploymentsShow,
  },
  {
    name: "deployments retire",
    summary: "retire a deployment, by its id or its robot",
    argument: "DEPLOYMENT",
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy deployments retire arm-7", "robot-policy deployments retire arm-7 --dry-run"],
    load: async () => (await import("../operator/deployments/deployments.ts")).deploymentsRetire,
  },
];

export const modelRows: readonly OperatorRow[] = [
  {
    name: "models list",
    aliases: ["ls"],
    summary: "list the models of the catalog",
    flags: LIST_FLAGS,
    examples: ["robot-policy models list", "robot-policy models list --json | jq -r '.models[].slug'"],
    load: async () => (await import("../operator/models/models.ts")).modelsList,
  },
  {
    name: "models show",
    summary: "show a model, its checkpoints and their requirements",
    argument: "MODEL",
    examples: ["robot-policy models show pick-and-place"],
    load: async () => (await import("../operator/models/models.ts")).modelsShow,
  },
];

const SINCE_FLAG: FlagRow = {
  flag: "--since <when>",
  summary: "start: 2026-01-31 (UTC), 2026-01-31T08:00:00Z, or 30d, 12h ago (default: 30d)",
};

/** Keys, usage, audit log and raw requests. */
export const organizationRows: readonly OperatorRow[] = [
  {
    name: "keys create",
    summary: "create an API key; prints it once, or writes it to a new file",
    argument: "LABEL",
    flags: [
      {
        flag: "--scope <scope>",
        summary: `what it may do, repeatable: ${GENERAL_SCOPES.join(", ")} (default: everything)`,
        repeats: true,
        suggestions: GENERAL_SCOPES,
      },
      {
        flag: "--expires <when>",
        summary: "when it expires: 2030-01-31 (UTC), 2030-01-31T08:00:00Z, or 90d, 12h from now",
      },
      {
        flag: "--enroll",
        summary: "a key with which robots enroll without an approval, and nothing else",
        excludes: ["--scope"],
      },
      ...[
        { flag: "--uses <count>", summary: "how many robots may enroll with it" },
        { flag: "--site <site>", summary: "site of the robots that enroll with it", names: "sites" },
        { flag: "--region <region>", summary: "region of the robots that enroll with it", names: "regions" },
        labelFlag("label of the robots that enroll with it; repeatable"),
      ].map((row): FlagRow => Object.assign(row, { needs: "--enroll" })),
      { flag: "--out <file>", summary: "write it to this new file, which only you can read, and do not print it" },
      DRY_RUN_FLAG,
    ],
    examples: [
      "robot-policy keys create 'cell 4' --scope robots:setup --out ./api-key",
      "robot-policy keys create dashboard --scope robots:read --scope fleets:read --expires 90d",
      "robot-policy keys create 'images of July' --enroll --uses 500 --expires 7d --site plant-1",
    ],
    load: async () => (await import("../operator/keys/create.ts")).keysCreate,
  },
  {
    name: "keys list",
    aliases: ["ls"],
    summary: "list the API keys, without their secrets",
    flags: LIST_FLAGS,
    examples: ["robot-policy keys list"],
    load: async () => (await import("../operator/keys/list.ts")).keysList,
  },
  {
    name: "keys revoke",
    summary: "revoke an API key, by its id or label, and the keys that were created with it",
    argument: "KEY",
    names: ["keys"],
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy keys revoke 'cell 4'", "robot-policy keys revoke key_01jz0000000000000000000000 --yes"],
    load: async () => (await import("../operator/keys/revoke.ts")).keysRevoke,
  },
  {
    name: "usage",
    summary: "show the usage, by robot, model or day",
    flags: [
      SINCE_FLAG,
      { flag: "--until <when>", summary: "end, in the same formats (default: now)" },
      { flag: "--by <what>", summary: "sum up by robot, model or day", choices: ["robot", "model", "day"] },
      { flag: "--csv", summary: "print comma-separated values, for a spreadsheet", excludes: ["--json"] },
      ...COLUMN_FLAGS.map(({ flag, summary }): FlagRow => ({ flag, summary, excludes: ["--by", "--csv"] })),
    ],
    examples: [
      "robot-policy usage --since 30d --by robot",
      "robot-policy usage --since 2026-01-01 --until 2026-02-01 --by day --csv > january.csv",
    ],
    load: async () => (await import("../operator/usage/usage.ts")).usage,
  },
  {
    name: "audit",
    summary: "show who changed what",
    flags: [
      SINCE_FLAG,
      robotFlag("registrations of this robot that changed something, by name or id; repeatable"),
      ...COLUMN_FLAGS,
    ],
    examples: ["robot-policy audit --since 7d", "robot-policy audit --robot cell-4"],
    load: async () => (await import("../operator/audit/audit.ts")).audit,
  },
  {
    name: "api",
    summary: "send any request, and print the answer unchanged",
    argument: "METHOD [PATH]",
    flags: [
      {
        flag: "--field <name=value>",
        summary: "member of the body, or of the query with GET; numbers, true, false and null keep their types",
        repeats: true,
      },
      { flag: "--raw-field <name=value>", summary: "the same, always as a string", repeats: true },
      {
        flag: "--input <file>",
        summary: "file with the body, or - for stdin",
        excludes: ["--field", "--raw-field"],
      },
      { flag: "--paginate", summary: "fetch all pages of a list, and join them into one document" },
      { flag: "--include", summary: "also print status and headers" },
      DRY_RUN_FLAG,
    ],
    examples: [
      "robot-policy api /v1/robots --paginate",
      "robot-policy api POST /v1/me/api-keys --field label='cell 4'",
      `echo '{"selector": {"site": "plant-1"}}' | robot-policy api POST /v1/fleets/preview --input -`,
      "robot-policy api POST /v1/fleets --input fleet.json --dry-run",
    ],
    load: async () => (await import("../operator/api/api.ts")).api,
  },
];
