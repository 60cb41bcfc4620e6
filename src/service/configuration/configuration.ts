/**
 * The service's configuration, a YAML file that an administrator edits (config/service.example.yaml).
 *
 * It is read as strictly as the robot manifest: all mistakes at once, each with line and column. The place of the data is optional, because
 * flags can name it too.
 */
import * as z from "zod";

import { readSettings, type SettingsReading } from "../../documents/read.ts";
import { absolutePath, integer, list, OF_MAPPING, orNull, refuse } from "../../documents/schemas.ts";
import type { Files } from "../../platform/files/files.ts";
import { IDENTITY_SETTINGS, type IdentitySettings } from "../identity/index.ts";
import { type FileFindings, readEditedFile } from "../kernel/edited-file.ts";
import { LOG_LEVELS } from "../kernel/log-level.ts";
import type { StoreLocation } from "../kernel/store/store.ts";
import { RATE_LIMITS } from "../kernel/traffic/limits.ts";
import { limitsSchema, rateLimitSchema, SERVICE_LIMITS } from "../limits.ts";
import { WEBHOOK_SETTINGS, type WebhookSettings } from "../webhooks/index.ts";
import { databaseUrl, listenAddress, networks, receiver, seconds } from "./readers.ts";

const CONFIGURATION_LIMIT_BYTES = 1_048_576;
export const AUDIT_RETENTION_DAYS = { minimum: 1, maximum: 36_500, standard: 400 } as const;
const POOL_SIZE = { minimum: 1, maximum: 200 } as const;
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
  .object({ cert_file: absolutePath, key_file: absolutePath })
  .transform(({ cert_file: certFile, key_file: keyFile }) => ({ certFile, keyFile }));

const log = z.object({
  level: z.enum(LOG_LEVELS).default("info"),
  /** Log every request at info, not only at debug. */
  requests: z.boolean().default(false),
});

const audit = z.object({ retention_days: integer(AUDIT_RETENTION_DAYS).default(AUDIT_RETENTION_DAYS.standard) });

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
    code_ttl_s: seconds(CODE_TTL_S, IDENTITY_SETTINGS.codeTtlMs),
    credential_ttl_s: seconds(CREDENTIAL_TTL_S, IDENTITY_SETTINGS.credentialTtlMs),
    grace_s: seconds(GRACE_S, IDENTITY_SETTINGS.graceMs),
    recovery_window_s: seconds(RECOVERY_WINDOW_S, IDENTITY_SETTINGS.recoveryWindowMs),
    recoveries: integer(RECOVERIES).default(IDENTITY_SETTINGS.recoveries),
    online_window_s: seconds(ONLINE_WINDOW_S, IDENTITY_SETTINGS.onlineWindowMs),
    copied_key: z.enum(["freeze", "warn"]).default(IDENTITY_SETTINGS.copiedKey),
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
    allow: list({ minimum: 0, maximum: ALLOWED_MAXIMUM }, receiver).default([...WEBHOOK_SETTINGS.allow]),
  })
  .transform((written): WebhookSettings => ({ ...WEBHOOK_SETTINGS, ...written }));

const database = z
  .object({
    url: databaseUrl.optional(),
    url_file: absolutePath.optional(),
    pool_size: integer(POOL_SIZE).optional(),
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
    listen: listenAddress.default({ host: "127.0.0.1", port: 8080 }),
    tls: orNull(tls),
    /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For is trusted. */
    trusted_proxies: networks.default([]),
    bootstrap_key_file: orNull(absolutePath),
    /** Path of the model catalog, which is applied at start. */
    models: orNull(absolutePath),
    rate_limit: rateLimitSchema.default(RATE_LIMITS),
    /** Whether /metrics is served. */
    metrics: z.boolean().default(true),
    /** Whether the console is served. */
    console: z.boolean().default(true),
    log: log.default({ level: "info", requests: false }),
    /** How many days entries of the audit log are kept. */
    audit: audit.default({ retention_days: AUDIT_RETENTION_DAYS.standard }),
    limits: limitsSchema.default(SERVICE_LIMITS),
    identity: identity.default(IDENTITY_SETTINGS),
    webhooks: webhooks.default(WEBHOOK_SETTINGS),
    data: absolutePath.optional(),
    database: database.optional(),
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
