import { API_KEY_SCOPES } from "../api/wire/scopes.ts";
import type { KeysCreateFlags } from "../service/commands/keys-create.ts";
import type { CommandContext, ServeOptions } from "../service/commands/serve/serve.ts";
import { LOG_LEVELS } from "../service/kernel/log-level.ts";
import type { ProgramTable } from "./command-table.ts";
import type { ProcessContext } from "./process-context.ts";
import { runProgram } from "./run-program.ts";
import { VERSION } from "./version.ts";

const JSON_FLAG = { flag: "--json", summary: "print one JSON document" };

/** Where a command beside the service finds the store: one of the three. */
const STORE_FLAGS = [
  { flag: "--config <file>", summary: "the configuration file of the service, which says where everything is kept" },
  { flag: "--data <dir>", summary: "the data directory of the service" },
  {
    flag: "--database <url>",
    summary: "the PostgreSQL database of the service: postgres://USER:PASSWORD@HOST/DATABASE",
  },
] as const;

const ORGANIZATION_FLAG = {
  flag: "--org <org>",
  summary: "name or id of the organization; may be left out where there is only one",
};

/** Every flag any command of the service takes. */
interface ServiceFlags extends ServeOptions, KeysCreateFlags {}

const table: ProgramTable<ServiceFlags, CommandContext> = {
  name: "robot-policy-service",
  summary: "The /v1 robot policy API, self-hosted: robots register here.",
  common: [],
  groups: {
    models: "offer models to robots, and see how they are",
    orgs: "make organizations, and list them",
    keys: "make API keys, list and revoke them",
  },
  commands: [
    {
      name: "serve",
      summary: "run the service; prints one line of JSON with its URL once it accepts requests, and logs to stderr",
      flags: [
        {
          flag: "--config <file>",
          summary: "what the flags do not say is read from here (config/service.example.yaml)",
        },
        { flag: "--data <dir>", summary: "where everything is kept; made when it is not there" },
        {
          flag: "--database <url>",
          summary: "keep everything in PostgreSQL instead: postgres://USER:PASSWORD@HOST/DATABASE",
        },
        {
          flag: "--listen <host:port>",
          summary: "address to listen on; port 0 takes any free one (default: 127.0.0.1:8080)",
        },
        {
          flag: "--bootstrap-key-file <file>",
          summary: "make sure the API key in this file works; written when it is not there",
        },
        { flag: "--models <file>", summary: "offer the models of this catalog (config/models.example.yaml)" },
        { flag: "--no-rate-limit", summary: "let clients ask as often as they like; for measurements" },
        { flag: "--log-level <level>", summary: "what to log (default: info)", choices: LOG_LEVELS },
        {
          flag: "--check",
          summary: "read configuration, certificate and models, try the address, tell what is wrong, and end",
        },
      ],
      examples: [
        "robot-policy-service serve --data /srv/robot-policy --bootstrap-key-file /srv/robot-policy/api-key",
        "robot-policy-service serve --config /etc/robot-policy-service/config.yaml",
      ],
      // Loaded lazily: `--help` needs neither database nor web framework.
      load: async () => (await import("../service/commands/serve/serve.ts")).serve,
    },
    {
      name: "models apply",
      summary: "offer the models of a catalog file, and withdraw what it no longer has",
      argument: "FILE",
      flags: [...STORE_FLAGS, { flag: "--dry-run", summary: "tell what would change, and change nothing" }, JSON_FLAG],
      examples: ["robot-policy-service models apply models.yaml --data /srv/robot-policy --dry-run"],
      load: async () => (await import("../service/commands/models-apply.ts")).modelsApply,
    },
    {
      name: "models list",
      summary: "show the models on offer, and how their endpoints are",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: ["robot-policy-service models list --data /srv/robot-policy"],
      load: async () => (await import("../service/commands/models-list.ts")).modelsList,
    },
    {
      name: "orgs create",
      summary: "make an organization; prints its id",
      argument: "NAME",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: ["robot-policy-service orgs create warehouse --data /srv/robot-policy"],
      load: async () => (await import("../service/commands/orgs-create.ts")).orgsCreate,
    },
    {
      name: "orgs list",
      summary: "show the organizations",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: ["robot-policy-service orgs list --data /srv/robot-policy"],
      load: async () => (await import("../service/commands/orgs-list.ts")).orgsList,
    },
    {
      name: "keys create",
      summary: "make an API key; prints it, once",
      flags: [
        ...STORE_FLAGS,
        { flag: "--label <text>", summary: "what it is for", required: true },
        ORGANIZATION_FLAG,
        {
          flag: "--scope <scope>",
          summary: `what it may do, again for each: ${API_KEY_SCOPES.join(", ")}; everything when left out`,
          repeats: true,
          suggestions: API_KEY_SCOPES,
        },
        {
          flag: "--expires <when>",
          summary: "until when it works: 2030-01-31 (UTC), 2030-01-31T08:00:00Z, or 90d, 12h, 30m from now",
        },
        {
          flag: "--robot <name>",
          summary: "a robot that it may set up, again for each; any when left out",
          repeats: true,
        },
        { flag: "--max-robots <count>", summary: "how many new robots it may add" },
        JSON_FLAG,
      ],
      examples: [
        "robot-policy-service keys create --data /srv/robot-policy --label operator",
        "robot-policy-service keys create --data /srv/robot-policy --label 'arm 3' --scope robots:setup --robot arm-3",
      ],
      load: async () => (await import("../service/commands/keys-create.ts")).keysCreate,
    },
    {
      name: "keys list",
      summary: "show the API keys of an organization",
      flags: [...STORE_FLAGS, ORGANIZATION_FLAG, JSON_FLAG],
      examples: ["robot-policy-service keys list --data /srv/robot-policy"],
      load: async () => (await import("../service/commands/keys-list.ts")).keysList,
    },
    {
      name: "keys revoke",
      summary: "have an API key refused from now on, and end the sessions it approved and the keys made with it",
      argument: "ID",
      flags: [...STORE_FLAGS, { flag: "--yes", summary: "revoke it even where other keys end with it" }, JSON_FLAG],
      examples: ["robot-policy-service keys revoke key_01jz0000000000000000000000 --data /srv/robot-policy"],
      load: async () => (await import("../service/commands/keys-revoke.ts")).keysRevoke,
    },
    {
      name: "audit",
      summary: "show who changed what, oldest first",
      flags: [
        ...STORE_FLAGS,
        {
          flag: "--since <when>",
          summary: "from then on: 2026-01-31, 2026-01-31T08:00:00Z, or 2h, 30m, 7d back from now",
        },
        { flag: "--limit <count>", summary: "so many of the newest (default: 100)" },
        { flag: "--org <org>", summary: "of this organization alone: its name or id" },
        { flag: "--subject <id>", summary: "what was done to this alone: rob_…, key_…, fleet_…" },
        { flag: "--actor <id>", summary: "what this key or session did alone: key_…, ses_…, or command" },
        { flag: "--action <action>", summary: "this kind of change alone, such as robot.setup" },
        { flag: "--refused", summary: "registrations that were refused, of one organization, and why" },
        JSON_FLAG,
      ],
      examples: ["robot-policy-service audit --data /srv/robot-policy --since 1d"],
      load: async () => (await import("../service/commands/audit.ts")).audit,
    },
    {
      name: "status",
      summary: "show what each organization has, and who met which limit in the last 7 days",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: ["robot-policy-service status --data /srv/robot-policy"],
      load: async () => (await import("../service/commands/store/status.ts")).status,
    },
    {
      name: "backup",
      summary: "copy everything, as it is at one moment, into one new file; a service on the store goes on meanwhile",
      argument: "FILE",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: ['robot-policy-service backup "robots-$(date +%F).db" --data /srv/robot-policy'],
      load: async () => (await import("../service/commands/store/backup.ts")).backup,
    },
    {
      name: "restore",
      summary: "put a backup into a new data directory or an empty database; also the way from one to the other",
      argument: "FILE",
      flags: [...STORE_FLAGS, JSON_FLAG],
      examples: [
        "robot-policy-service restore robots.db --data /srv/robot-policy",
        "robot-policy-service restore robots.db --database postgres://robots:PASSWORD@db/robots",
      ],
      load: async () => (await import("../service/commands/store/restore.ts")).restore,
    },
  ],
  examples: ["robot-policy-service serve --data ./data --listen 127.0.0.1:0 --bootstrap-key-file ./api-key"],
};

/** Runs robot-policy-service with these arguments. */
export function runServiceProgram(argv: readonly string[], own: ProcessContext): Promise<number> {
  return runProgram(table, argv, { ...own, version: VERSION, context: own });
}
