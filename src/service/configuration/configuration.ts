/**
 * The service's configuration, a YAML file that an administrator edits (config/service.example.yaml).
 *
 * It is read with the strict reader of the robot manifest, which reports all mistakes at once, each with line and column. The place of the
 * data is optional, because flags can name it too.
 */
import type { Reader } from "../../manifest/fields.ts";
import { fail, mapping } from "../../manifest/fields.ts";
import type { ValuesOf } from "../../manifest/keys.ts";
import { defaultsOf, keysReader, readKeys, withDefault } from "../../manifest/keys.ts";
import { absolutePath, boolean, integer, oneOf } from "../../manifest/readers.ts";
import type { SettingsReading } from "../../manifest/settings.ts";
import { readSettings } from "../../manifest/settings.ts";
import { IDENTITY_SETTINGS } from "../installations/index.ts";
import type { TlsFiles } from "../kernel/connections/tls.ts";
import { LOG_LEVELS } from "../kernel/log-level.ts";
import { RATE_LIMITS } from "../kernel/traffic/rate-limits.ts";
import { SERVICE_LIMITS } from "../limits.ts";
import { WEBHOOK_SETTINGS } from "../webhooks/index.ts";
import { readIdentity } from "./identity.ts";
import { readKeep } from "./keep.ts";
import type { Keep } from "./keep.ts";
import { readLimits, readRateLimit } from "./limits.ts";
import { isWritten, listenAddress, networks } from "./readers.ts";
import { readWebhooks } from "./webhooks.ts";

export const CONFIGURATION_LIMIT_BYTES = 1_048_576;
export const AUDIT_RETENTION_DAYS = { minimum: 1, maximum: 36_500, standard: 400 } as const;

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

const SECRET_ADVICE = ": put it into a file that only the service can read, and name that file";

export function readConfiguration(bytes: Uint8Array): SettingsReading<Configuration> {
  const rules = {
    subject: "configuration",
    sizeLimitBytes: CONFIGURATION_LIMIT_BYTES,
    secretAdvice: SECRET_ADVICE,
    hints: HINTS,
  } as const;
  return readSettings(bytes, rules, readRoot);
}

const readTls: Reader<TlsFiles> = mapping((fields) => {
  const certFile = fields.required("cert_file", absolutePath);
  const keyFile = fields.required("key_file", absolutePath);
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
});

const LOG = {
  level: withDefault(oneOf(...LOG_LEVELS), "info"),
  /** Log every request at info, not only at debug. */
  requests: withDefault(boolean, false),
};

const readAudit: Reader<number | "off"> = mapping((fields, place) => {
  const forever = fields.optional("keep_forever", boolean) ?? false;
  const days = fields.optional("retention_days", integer(AUDIT_RETENTION_DAYS)) ?? AUDIT_RETENTION_DAYS.standard;
  if (forever && isWritten(place, "retention_days")) {
    fail(place, "conflict", "keep_forever and retention_days are both set; leave one of them out");
  }
  return forever ? "off" : days;
});

const KEYS = {
  listen: withDefault(listenAddress, { host: "127.0.0.1", port: 8080 }),
  tls: withDefault(readTls, null),
  /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For is trusted. */
  trusted_proxies: withDefault(networks, []),
  bootstrap_key_file: withDefault(absolutePath, null),
  /** Path of the model catalog, which is applied at start. */
  models: withDefault(absolutePath, null),
  rate_limit: withDefault(readRateLimit, RATE_LIMITS),
  /** Whether /metrics is served. */
  metrics: withDefault(boolean, true),
  /** Whether the console is served. */
  console: withDefault(boolean, true),
  log: withDefault(
    keysReader(LOG, (log) => log),
    defaultsOf(LOG),
  ),
  /** How many days entries of the audit log are kept. */
  audit: withDefault(readAudit, AUDIT_RETENTION_DAYS.standard),
  limits: withDefault(readLimits, SERVICE_LIMITS),
  identity: withDefault(readIdentity, IDENTITY_SETTINGS),
  webhooks: withDefault(readWebhooks, WEBHOOK_SETTINGS),
};

export interface Configuration extends ValuesOf<typeof KEYS> {
  readonly keep: Keep | null;
}

/** An empty configuration. */
export const DEFAULTS: Configuration = { ...defaultsOf(KEYS), keep: null };

const readRoot: Reader<Configuration> = mapping((fields, place) => {
  return { ...readKeys(fields, KEYS), keep: readKeep(fields, place) };
});
