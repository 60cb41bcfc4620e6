/**
 * The service's configuration, a YAML file that an administrator edits (config/service.example.yaml).
 *
 * It is read as strictly as the robot manifest: all mistakes at once, each with line and column. The place of the data is optional, because
 * flags can name it too.
 */
import * as z from "zod";

import { readSettings, type SettingsReading } from "../../documents/read.ts";
import {
  absolutePath,
  integer,
  type JsonSchema,
  jsonSchema,
  list,
  OF_MAPPING,
  orNull,
  refuse,
} from "../../documents/schemas.ts";
import type { Files } from "../../platform/files/files.ts";
import { IDENTITY_SETTINGS, type IdentitySettings } from "../identity/index.ts";
import { type FileFindings, readEditedFile } from "../kernel/edited-file.ts";
import { LOG_LEVELS } from "../kernel/log-level.ts";
import { POOL_SIZE, type StoreLocation } from "../kernel/store/store.ts";
import { RATE_LIMITS } from "../kernel/traffic/limits.ts";
import { limitsSchema, rateLimitSchema, SERVICE_LIMITS } from "../limits.ts";
import { WEBHOOK_SETTINGS, type WebhookSettings } from "../webhooks/index.ts";
import { databaseUrl, ENCODE_PASSWORD, listenAddress, networks, receiver, seconds } from "./readers.ts";

const CONFIGURATION_LIMIT_BYTES = 1_048_576;
export const AUDIT_RETENTION_DAYS = { minimum: 1, maximum: 36_500, standard: 400 } as const;
const POOL_SIZES = { minimum: 1, maximum: 200 } as const;
const ALLOWED_MAXIMUM = 256;

/** Where data is stored; the URL of a database may stand in a file of its own. */
export type ConfiguredStore =
  | StoreLocation
  | { readonly kind: "postgres-file"; readonly urlFile: string; readonly poolSize?: number };

/** Names that other services give these keys. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["port", "write listen: HOST:PORT"],
  ["host", "write listen: HOST:PORT"],
  ["cert", "write cert_file, the path of a PEM file"],
  ["key", "write key_file, the path of a PEM file"],
  ["ssl", "write tls"],
  ["data_directory", "write data"],
  ["database_url", "write database, and url or url_file below it"],
  ["log_level", "write log, and level below it"],
  ["workers", "one process serves; run more of them on one database to scale out"],
]);

const RULES = {
  subject: "configuration",
  sizeLimitBytes: CONFIGURATION_LIMIT_BYTES,
  secretAdvice: ": put it into a file that only the service can read, and name that file",
  hints: HINTS,
} as const;

export function readConfiguration(bytes: Uint8Array): SettingsReading<Configuration> {
  return readSettings(bytes, RULES, configuration);
}

export type FileReading =
  | { readonly state: "read"; readonly configuration: Configuration; readonly warnings: FileFindings | null }
  | { readonly state: "invalid"; readonly file: FileFindings };

const FILE_RULES = {
  subject: "configuration",
  example: "config/service.example.yaml",
  limitBytes: CONFIGURATION_LIMIT_BYTES,
} as const;

/** Reads the configuration file of `--config`; without that flag, all defaults. */
export async function readConfigurationFile(path: string | undefined, files: Files): Promise<FileReading> {
  if (path === undefined) return { state: "read", configuration: DEFAULTS, warnings: null };
  const bytes = await readEditedFile(files, path, FILE_RULES);
  if (!(bytes instanceof Uint8Array)) return { state: "invalid", file: { path, bytes: null, findings: [bytes] } };
  const { value, findings } = readConfiguration(bytes);
  const file = { path, bytes, findings };
  if (value === null) return { state: "invalid", file };
  return { state: "read", configuration: value, warnings: findings.length === 0 ? null : file };
}

const tls = z
  .object({
    cert_file: absolutePath.describe("Certificate with its chain, PEM. TLS 1.2 and 1.3."),
    key_file: absolutePath.describe("Its key, PEM, which the user of the service must be able to read."),
  })
  .transform(({ cert_file: certFile, key_file: keyFile }) => ({ certFile, keyFile }));

const log = z.object({
  level: z.enum(LOG_LEVELS).default("info").describe("Least severe messages that are logged."),
  requests: z.boolean().default(false).describe("Log every request at info, not only at debug."),
});

const audit = z.object({
  retention_days: integer(AUDIT_RETENTION_DAYS)
    .default(AUDIT_RETENTION_DAYS.standard)
    .describe("Days for which entries of the audit log are kept."),
});

const [MINUTE_S, HOUR_S, DAY_S] = [60, 3600, 86_400];
/** Clients wait ten minutes for an approval by default; a code that can be guessed at for days is no secret. */
const CODE_TTL_S = { minimum: MINUTE_S, maximum: DAY_S } as const;
/** Programs beside the agent renew by themselves when less than one hour is left. */
const CREDENTIAL_TTL_S = { minimum: 2 * HOUR_S, maximum: 90 * DAY_S } as const;
const GRACE_S = { minimum: 0, maximum: HOUR_S } as const;
const RECOVERY_WINDOW_S = { minimum: 0, maximum: 3650 * DAY_S } as const;
const RECOVERIES = { minimum: 0, maximum: 100 } as const;
/** Not below two heartbeats of the agent. */
const ONLINE_WINDOW_S = { minimum: 60, maximum: DAY_S } as const;

/** Lifetimes of enrolments and of the credentials of robots. */
const identity = z
  .object({
    code_ttl_s: seconds(CODE_TTL_S, IDENTITY_SETTINGS.codeTtlMs).describe(
      "Seconds for which the code of an enrolment can be approved.",
    ),
    credential_ttl_s: seconds(CREDENTIAL_TTL_S, IDENTITY_SETTINGS.credentialTtlMs).describe(
      "Seconds for which a robot's credential is valid; a robot renews it after 50 to 70 % of them.",
    ),
    grace_s: seconds(GRACE_S, IDENTITY_SETTINGS.graceMs).describe(
      "Seconds for which the old credential works after a renewal, unless the new one is used before.",
    ),
    recovery_window_s: seconds(RECOVERY_WINDOW_S, IDENTITY_SETTINGS.recoveryWindowMs).describe(
      "Seconds after its expiry for which a credential can still be renewed, by a robot that was off.",
    ),
    recoveries: integer(RECOVERIES)
      .default(IDENTITY_SETTINGS.recoveries)
      .describe("How many times in a row an expired credential can be renewed."),
    online_window_s: seconds(ONLINE_WINDOW_S, IDENTITY_SETTINGS.onlineWindowMs).describe(
      "Seconds after its last heartbeat for which a robot is online.",
    ),
    copied_key: z
      .enum(["freeze", "warn"])
      .default(IDENTITY_SETTINGS.copiedKey)
      .describe("Of a credential in use on two computers. freeze: neither works. warn: only a line in the log."),
  })
  .transform((written): IdentitySettings => ({
    codeTtlMs: written.code_ttl_s,
    credentialTtlMs: written.credential_ttl_s,
    graceMs: written.grace_s,
    recoveryWindowMs: written.recovery_window_s,
    recoveries: written.recoveries,
    onlineWindowMs: written.online_window_s,
    copiedKey: written.copied_key,
  }));

const webhooks = z
  .object({
    allow: list({ minimum: 0, maximum: ALLOWED_MAXIMUM }, receiver)
      .default([...WEBHOOK_SETTINGS.allow])
      .describe(
        "Receivers that may have an address that is not public: hosts, addresses and networks. Only to these, plain http is allowed.",
      ),
  })
  .transform((written): WebhookSettings => ({ ...WEBHOOK_SETTINGS, ...written }));

const database = z
  .object({
    url: databaseUrl
      .optional()
      .describe("postgres://USER@HOST:5432/DATABASE, without a password, which other users could read here."),
    url_file: absolutePath
      .optional()
      .describe(`File with one line, postgres://USER:PASSWORD@HOST:5432/DATABASE; ${ENCODE_PASSWORD}.`),
    pool_size: integer(POOL_SIZES)
      .optional()
      .meta({ default: POOL_SIZE })
      .describe("Connections to the database at most."),
  })
  .superRefine(({ url, url_file: urlFile }, ctx) => {
    if (url !== undefined && urlFile !== undefined) {
      refuse(ctx, { id: "conflict", message: "url and url_file are both set; leave one of them out" });
    } else if (url === undefined && urlFile === undefined) {
      refuse(ctx, { id: "missing", message: "one of url and url_file is required" });
    }
  }, OF_MAPPING)
  .transform(({ url, url_file: urlFile, pool_size: poolSize }): ConfiguredStore | null => {
    const pool = poolSize === undefined ? {} : { poolSize };
    if (url !== undefined) return { kind: "postgres", url, ...pool };
    return urlFile === undefined ? null : { kind: "postgres-file", urlFile, ...pool };
  });

const configuration = z
  .object({
    listen: listenAddress
      .default({ host: "127.0.0.1", port: 8080 })
      .meta({ default: "127.0.0.1:8080" })
      .describe(
        'HOST:PORT; an IPv6 host in brackets and quotes: "[::1]:8080". Others than this machine need tls, or a proxy.',
      ),
    tls: orNull(tls).describe("Both files are read again when they change, and on SIGHUP."),
    trusted_proxies: networks
      .default([])
      .describe("Addresses and networks (CIDR) of proxies. X-Forwarded-For is believed from these alone."),
    data: absolutePath
      .optional()
      .describe("Folder on the local disk in which everything is kept (SQLite); one service alone works on it."),
    database: database
      .optional()
      .describe(
        "In place of data: a PostgreSQL database, which any number of services share. It needs url_file or url.",
      ),
    bootstrap_key_file: orNull(absolutePath).describe(
      "File with the first API key. If it does not exist, the service creates the key and writes it there.",
    ),
    models: orNull(absolutePath).describe("The model catalog, which is applied at start and on SIGHUP."),
    rate_limit: rateLimitSchema.default(RATE_LIMITS).describe("How often clients may ask, for each process."),
    metrics: z
      .boolean()
      .default(true)
      .describe("Serve /metrics for Prometheus. Everyone who can connect may read it; it holds no names."),
    console: z.boolean().default(true).describe("Serve the console at the address of the service."),
    log: log.default({ level: "info", requests: false }).describe("What is logged."),
    audit: audit
      .default({ retention_days: AUDIT_RETENTION_DAYS.standard })
      .describe("Who changed what: robot-policy audit."),
    limits: limitsSchema.default(SERVICE_LIMITS).describe("Other limits for clients."),
    identity: identity.default(IDENTITY_SETTINGS).describe("Robots with credentials of their own."),
    webhooks: webhooks.default(WEBHOOK_SETTINGS).describe("What robot-policy webhooks may send to."),
  })
  .superRefine(({ data, database }, ctx) => {
    if (data === undefined || database === undefined) return;
    const message = "data and database are both set; data is stored in one place, so omit one of them";
    refuse(ctx, { id: "conflict", message });
  }, OF_MAPPING)
  .transform(({ data, database = null, ...settings }) => {
    const store: ConfiguredStore | null = data === undefined ? database : { kind: "sqlite", dataDirectory: data };
    return { ...settings, store };
  });

export type Configuration = Readonly<z.output<typeof configuration>>;

/** An empty configuration. */
export const DEFAULTS: Configuration = configuration.parse({});

/** JSON Schema (2020-12) of the configuration, for its reference. */
export function configurationSchema(): JsonSchema {
  return jsonSchema(
    configuration,
    "Configuration of robot-policy-service",
    "Where it listens, and where it keeps its data.",
  );
}
