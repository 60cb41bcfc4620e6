import { DEPLOYMENT_STATUSES } from "../api/deployments.ts";
import { API_KEY_SCOPES } from "../api/wire/scopes.ts";
import type { OperatorRow } from "./operator-flags.ts";
import { COLUMN_FLAGS, DRY_RUN_FLAG, LIST_FLAGS, YES_FLAG } from "./operator-flags.ts";

/** Models, and what runs where. */
export const deploymentRows: readonly OperatorRow[] = [
  {
    name: "deployments list",
    aliases: ["ls"],
    summary: "list what runs where",
    flags: [
      {
        flag: "--robot <robot>",
        summary: "on this robot alone, by name or id; again for more",
        repeats: true,
        names: "robots",
      },
      { flag: "--model <model>", summary: "of this model alone", names: "models" },
      { flag: "--status <status>", summary: "in this state alone", choices: DEPLOYMENT_STATUSES },
      { flag: "--all", summary: "also what ran: deployments that are retired" },
      ...LIST_FLAGS,
    ],
    examples: ["robot-policy deployments list", "robot-policy deployments list --status failed --watch"],
    load: async () => (await import("../operator/deployments/deployments.ts")).deploymentsList,
  },
  {
    name: "deployments show",
    summary: "show one deployment, by its id or the robot it runs on",
    argument: "DEPLOYMENT",
    names: ["deployments"],
    flags: [],
    examples: ["robot-policy deployments show arm-7"],
    load: async () => (await import("../operator/deployments/deployments.ts")).deploymentsShow,
  },
  {
    name: "deployments retire",
    summary: "retire one deployment, by its id or the robot it runs on",
    argument: "DEPLOYMENT",
    names: ["deployments"],
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy deployments retire arm-7", "robot-policy deployments retire arm-7 --dry-run"],
    load: async () => (await import("../operator/deployments/retire.ts")).deploymentsRetire,
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
    summary: "show a model, its checkpoints and what they ask of a robot",
    argument: "MODEL",
    names: ["models"],
    flags: [],
    examples: ["robot-policy models show pick-and-place"],
    load: async () => (await import("../operator/models/models.ts")).modelsShow,
  },
];

/** Keys, usage and the raw interface. */
export const organizationRows: readonly OperatorRow[] = [
  {
    name: "keys create",
    summary: "create an API key; it is shown this once, or written to a file of its own",
    argument: "LABEL",
    flags: [
      {
        flag: "--scope <scope>",
        summary: `what it may do, again for each: ${API_KEY_SCOPES.join(", ")}; everything when left out`,
        repeats: true,
        suggestions: API_KEY_SCOPES,
      },
      { flag: "--expires <when>", summary: "until when it works: 2030-01-31 (UTC), 2030-01-31T08:00:00Z, or 90d, 12h" },
      {
        flag: "--robot <name>",
        summary: "a robot that it may set up, again for each; any when left out",
        repeats: true,
      },
      { flag: "--max-robots <count>", summary: "how many new robots it may add" },
      { flag: "--independent", summary: "let it go on when the key that you work with now is revoked" },
      { flag: "--out <file>", summary: "write it to this new file, for you alone to read, and do not show it" },
      DRY_RUN_FLAG,
    ],
    examples: [
      "robot-policy keys create 'cell 4' --scope robots:setup --robot cell-4 --out ./api-key",
      "robot-policy keys create dashboard --scope robots:read --scope fleets:read --expires 90d",
      "robot-policy keys create 'next operator' --independent",
    ],
    load: async () => (await import("../operator/keys/keys.ts")).keysCreate,
  },
  {
    name: "keys list",
    aliases: ["ls"],
    summary: "list the API keys, without the keys themselves",
    flags: LIST_FLAGS,
    examples: ["robot-policy keys list"],
    load: async () => (await import("../operator/keys/keys.ts")).keysList,
  },
  {
    name: "keys revoke",
    summary: "have an API key refused from now on, and those made with it, by its id or label",
    argument: "KEY",
    names: ["keys"],
    flags: [YES_FLAG, DRY_RUN_FLAG],
    examples: ["robot-policy keys revoke 'cell 4'", "robot-policy keys revoke key_01jz0000000000000000000000 --yes"],
    load: async () => (await import("../operator/keys/revoke.ts")).keysRevoke,
  },
  {
    name: "usage",
    summary: "show what was used, by robot, model or day",
    flags: [
      {
        flag: "--since <when>",
        summary: "from then on: 2026-01-31 (UTC), 2026-01-31T08:00:00Z, or 30d, 12h back (default: 30d)",
      },
      { flag: "--until <when>", summary: "up to then, written in the same ways" },
      { flag: "--by <what>", summary: "sums by robot, model or day", choices: ["robot", "model", "day"] },
      { flag: "--csv", summary: "comma-separated values, for a spreadsheet" },
      ...COLUMN_FLAGS,
    ],
    examples: [
      "robot-policy usage --since 30d --by robot",
      "robot-policy usage --since 2026-01-01 --until 2026-02-01 --by day --csv > january.csv",
    ],
    load: async () => (await import("../operator/usage/usage.ts")).usage,
  },
  {
    name: "audit",
    summary: "show who changed what, and which registrations were refused",
    flags: [
      {
        flag: "--since <when>",
        summary: "from then on: 2026-01-31 (UTC), 2026-01-31T08:00:00Z, or 30d, 12h back (default: 30d)",
      },
      {
        flag: "--robot <robot>",
        summary: "the registrations of this robot, and those that were refused, by name or id; again for more",
        repeats: true,
        names: "robots",
      },
      { flag: "--refused", summary: "refused registrations alone" },
      ...COLUMN_FLAGS,
    ],
    examples: ["robot-policy audit --since 7d", "robot-policy audit --refused --robot cell-4"],
    load: async () => (await import("../operator/audit/audit.ts")).audit,
  },
  {
    name: "api",
    summary: "send any request, and print the answer as it comes",
    argument: "METHOD [PATH]",
    flags: [
      {
        flag: "--field <name=value>",
        summary: "a member of the body, or of the query with GET; numbers, true, false and null are taken as such",
        repeats: true,
      },
      { flag: "--raw-field <name=value>", summary: "the same, always as text", repeats: true },
      { flag: "--input <file>", summary: "the body, from a file, or - for stdin" },
      { flag: "--paginate", summary: "ask for every page of a list, as one document" },
      { flag: "--include", summary: "print the status and the headers too" },
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

/** Who the operator is, and at which service. */
export const accountRows: readonly OperatorRow[] = [
  {
    name: "login",
    summary: "sign in by a page in a browser, and remember the service",
    flags: [
      { flag: "--no-browser", summary: "the browser is on another computer: open none, and wait for the approval" },
      { flag: "--key-file <file>", summary: "has no meaning here: a login works without a key", hidden: true },
    ],
    examples: [
      "robot-policy login --url https://policy.example.com",
      "robot-policy login --url https://policy.example.com --context lab --no-browser",
      "robot-policy contexts add lab --url https://policy.example.com --key-file ~/lab.key   # with a key instead",
    ],
    load: async () => (await import("../operator/logins/login.ts")).login,
  },
  {
    name: "logout",
    summary: "end the login at the service and forget it here",
    flags: [],
    examples: ["robot-policy logout", "robot-policy logout --context lab"],
    load: async () => (await import("../operator/logins/logout.ts")).logout,
  },
  {
    name: "whoami",
    summary: "show the service, the credential that is used, and whose it is",
    flags: [],
    examples: ["robot-policy whoami"],
    load: async () => (await import("../operator/logins/whoami.ts")).whoami,
  },
  {
    name: "contexts list",
    aliases: ["ls"],
    summary: "list the services that are known here",
    flags: [],
    examples: ["robot-policy contexts list"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsList,
  },
  {
    name: "contexts show",
    summary: "show one of them, or the current one",
    argument: "[NAME]",
    names: ["contexts"],
    flags: [],
    examples: ["robot-policy contexts show", "robot-policy contexts show lab"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsShow,
  },
  {
    name: "contexts use",
    summary: "make one of them current: the one that commands speak to",
    argument: "NAME",
    names: ["contexts"],
    flags: [],
    examples: ["robot-policy contexts use lab"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsUse,
  },
  {
    name: "contexts add",
    summary: "remember a service, with --url, and --key-file where there is one",
    argument: "NAME",
    flags: [],
    examples: ["robot-policy contexts add lab --url https://policy.lab.example --key-file ~/lab.key"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsAdd,
  },
  {
    name: "contexts remove",
    aliases: ["rm"],
    summary: "forget a service, and end the login there",
    argument: "NAME",
    names: ["contexts"],
    flags: [],
    examples: ["robot-policy contexts remove lab"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsRemove,
  },
];
