import { GENERAL_SCOPES } from "../api/wire/scopes.ts";
import type { CommandContext } from "./commands/command.ts";
import { LOG_LEVELS } from "./kernel/log-level.ts";
import { JSON_FLAG, type ProgramTable } from "../cli/command-table.ts";
import type { ProcessContext } from "../cli/process-context.ts";
import { runProgram } from "../cli/run-program.ts";
import { VERSION } from "../cli/version.ts";

/** Flags that name the store; a command needs one of them. */
const STORE_FLAGS = [
  { flag: "--config <file>", summary: "configuration file of the service, which names the store" },
  { flag: "--data <dir>", summary: "data directory of the service" },
  {
    flag: "--database <url>",
    summary: "PostgreSQL database of the service: postgres://USER:PASSWORD@HOST/DATABASE",
  },
] as const;

const ORGANIZATION_FLAG = {
  flag: "--org <org>",
  summary: "name or id of the organization; optional if there is only one",
};

/** The commands of robot-policy-service. */
export const serviceProgram: ProgramTable<never, CommandContext> = {
  name: "robot-policy-service",
  summary: "A self-hosted robot policy service: the /v1 API with which robots register.",
  common: [],
  groups: {
    models: "apply a model catalog",
    orgs: "create and list organizations",
    keys: "create and revoke API keys",
  },
  commands: [
    {
      name: "serve",
      summary: "run the service; prints one line of JSON with its URL once it accepts requests, and logs to stderr",
      flags: [
        {
          flag: "--config <file>",
          summary: "configuration file; flags take precedence (see config/service.example.yaml)",
        },
        { flag: "--data <dir>", summary: "data directory; created if it is missing" },
        {
          flag: "--database <url>",
          summary: "PostgreSQL database to use instead: postgres://USER:PASSWORD@HOST/DATABASE",
        },
        {
          flag: "--listen <host:port>",
          summary: "address to listen on; port 0: any free port (default: 127.0.0.1:8080)",
        },
        {
          flag: "--bootstrap-key-file <file>",
          summary: "file with an API key to accept; created with a new key if it is missing",
        },
        { flag: "--models <file>", summary: "model catalog to apply (see config/models.example.yaml)" },
        { flag: "--no-rate-limit", summary: "do not limit the rate of requests; for measurements" },
        { flag: "--log-level <level>", summary: "lowest level to log (default: info)", choices: LOG_LEVELS },
        {
          flag: "--check",
          summary: "check configuration, certificate and models, report what is wrong, and exit",
        },
      ],
      examples: [
        "robot-policy-service serve --data /srv/robot-policy --bootstrap-key-file /srv/robot-policy/api-key",
        "robot-policy-service serve --config /etc/robot-policy-service/config.yaml",
      ],
      // Loaded lazily: `--help` needs neither database nor web framework.
      load: async () => (await import("./commands/serve.ts")).serve,
    },
    {
      name: "models apply",
      summary: "apply a catalog file: offer its models, and withdraw those that it no longer has",
      argument: "FILE",
      flags: [...STORE_FLAGS, { flag: "--dry-run", summary: "show the changes; make none" }, JSON_FLAG],
      examples: ["robot-policy-service models apply models.yaml --data /srv/robot-policy --dry-run"],
      load: async () => (await import("./commands/models.ts")).modelsApply,
    },
    {
      name: "orgs create",
      summary: "create an organization, and print its id",
      argument: "NAME",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: ["robot-policy-service orgs create warehouse --data /srv/robot-policy"],
      load: async () => (await import("./commands/organizations.ts")).orgsCreate,
    },
    {
      name: "orgs list",
      summary: "list the organizations, with the numbers of their robots and keys",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: ["robot-policy-service orgs list --data /srv/robot-policy"],
      load: async () => (await import("./commands/organizations.ts")).orgsList,
    },
    {
      name: "keys create",
      summary: "create an API key, and print it once",
      flags: [
        ...STORE_FLAGS,
        { flag: "--label <text>", summary: "what the key is for", required: true },
        ORGANIZATION_FLAG,
        {
          flag: "--scope <scope>",
          summary: `what it may do, repeatable: ${GENERAL_SCOPES.join(", ")} (default: everything)`,
          repeats: true,
          suggestions: GENERAL_SCOPES,
        },
        {
          flag: "--expires <when>",
          summary: "when it expires: 2030-01-31 (UTC), 2030-01-31T08:00:00Z, or 90d, 12h, 30m from now",
        },
        JSON_FLAG,
      ],
      examples: [
        "robot-policy-service keys create --data /srv/robot-policy --label operator",
        "robot-policy-service keys create --data /srv/robot-policy --label 'arm 3' --scope robots:setup",
      ],
      load: async () => (await import("./commands/keys.ts")).keysCreate,
    },
    {
      name: "keys revoke",
      summary: "revoke an API key, the logins that it approved, and the keys that were created with it",
      argument: "ID",
      flags: [...STORE_FLAGS, { flag: "--yes", summary: "revoke it even if other keys end with it" }, JSON_FLAG],
      examples: ["robot-policy-service keys revoke key_01jz0000000000000000000000 --data /srv/robot-policy"],
      load: async () => (await import("./commands/keys.ts")).keysRevoke,
    },
    {
      name: "backup",
      summary: "copy a data directory to a new file, also while the service runs",
      argument: "FILE",
      flags: [
        ...STORE_FLAGS,
        { flag: "--keep <number>", summary: "FILE is a folder: write a backup named by its time, and keep this many" },
        JSON_FLAG,
      ],
      examples: [
        'robot-policy-service backup "robots-$(date +%F).db" --data /srv/robot-policy',
        "robot-policy-service backup /var/backups/robot-policy --keep 14 --data /srv/robot-policy",
      ],
      load: async () => (await import("./commands/copies.ts")).backup,
    },
    {
      name: "restore",
      summary: "put a backup into a new data directory or an empty database",
      argument: "FILE",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: [
        "robot-policy-service restore robots.db --data /srv/robot-policy",
        "robot-policy-service restore robots.db --database postgres://robots:PASSWORD@db/robots",
      ],
      load: async () => (await import("./commands/copies.ts")).restore,
    },
  ],
  examples: ["robot-policy-service serve --data ./data --listen 127.0.0.1:0 --bootstrap-key-file ./api-key"],
};

/** Runs robot-policy-service with these arguments. */
export function runServiceProgram(argv: readonly string[], own: ProcessContext): Promise<number> {
  return runProgram(serviceProgram, argv, { ...own, version: VERSION, context: own });
}
