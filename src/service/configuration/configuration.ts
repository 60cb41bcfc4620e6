/**
 * The service's configuration: where it listens and keeps things, whom it believes, and its bounds.
 *
 * It is a YAML file that an administrator edits (config/service.example.yaml). This file reads it with the strict reader of the robot
 * manifest: every mistake at once, each with file, line and column. What comes out has every default filled in and its members named as
 * the keys are. Where things are kept may be left open, because flags can say it too.
 */
import type { Reader } from "../../manifest/fields.ts";
import { fieldsOf } from "../../manifest/fields.ts";
import { absolutePath, boolean, integer, oneOf } from "../../manifest/readers.ts";
import type { SettingsReading } from "../../manifest/settings.ts";
import { readSettings } from "../../manifest/settings.ts";
import type { ListenAddress } from "../kernel/connections/listen-address.ts";
import type { TlsFiles } from "../kernel/connections/tls.ts";
import { LOG_LEVELS } from "../kernel/log-level.ts";
import type { LogLevel } from "../kernel/log-level.ts";
import { RATE_LIMITS } from "../kernel/traffic/rate-limits.ts";
import type { RateLimits } from "../kernel/traffic/rate-limits.ts";
import { SERVICE_LIMITS } from "../limits.ts";
import type { ServiceLimits } from "../limits.ts";
import { readKeep } from "./keep.ts";
import type { Keep } from "./keep.ts";
import { readLimits, readRateLimit } from "./limits.ts";
import { isWritten, listenAddress, networks } from "./readers.ts";

export interface Configuration {
  readonly listen: ListenAddress;
  readonly tls: TlsFiles | null;
  /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly keep: Keep | null;
  readonly bootstrapKeyFile: string | null;
  /** The model catalog, applied at start. */
  readonly models: string | null;
  /** Null switches it off. */
  readonly rateLimit: RateLimits | null;
  /** Whether /metrics answers. */
  readonly metrics: boolean;
  /** Whether the console is served. */
  readonly console: boolean;
  readonly log: LogConfiguration;
  /** How long entries of the audit log are kept; null for ever. */
  readonly auditRetentionDays: number | null;
  readonly limits: ServiceLimits;
}

export interface LogConfiguration {
  readonly level: LogLevel;
  /** Tell every request at info, not only at debug. */
  readonly requests: boolean;
}

export const CONFIGURATION_LIMIT_BYTES = 1_048_576;
export const AUDIT_RETENTION_DAYS = { minimum: 1, maximum: 36_500, standard: 400 } as const;

/** What a configuration without a word says. */
export const DEFAULTS: Configuration = {
  listen: { host: "127.0.0.1", port: 8080 },
  tls: null,
  trustedProxies: [],
  keep: null,
  bootstrapKeyFile: null,
  models: null,
  rateLimit: RATE_LIMITS,
  metrics: true,
  console: true,
  log: { level: "info", requests: false },
  auditRetentionDays: AUDIT_RETENTION_DAYS.standard,
  limits: SERVICE_LIMITS,
};

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

const SECRET_ADVICE = ": put it into a file of its own, readable by the service alone, and name that";

/** Reads a configuration completely: every finding that can be reached. */
export function readConfiguration(bytes: Uint8Array): SettingsReading<Configuration> {
  const rules = {
    subject: "configuration",
    size_limit_bytes: CONFIGURATION_LIMIT_BYTES,
    secretAdvice: SECRET_ADVICE,
    hints: HINTS,
  } as const;
  return readSettings(bytes, rules, readRoot);
}

const readRoot: Reader<Configuration> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const configuration: Configuration = {
    listen: fields.optional("listen", listenAddress) ?? DEFAULTS.listen,
    tls: fields.optional("tls", readTls) ?? null,
    trustedProxies: fields.optional("trusted_proxies", networks) ?? DEFAULTS.trustedProxies,
    keep: readKeep(fields, place),
    bootstrapKeyFile: fields.optional("bootstrap_key_file", absolutePath) ?? null,
    models: fields.optional("models", absolutePath) ?? null,
    rateLimit: orNull(fields.optional("rate_limit", readRateLimit), DEFAULTS.rateLimit),
    metrics: fields.optional("metrics", boolean) ?? DEFAULTS.metrics,
    console: fields.optional("console", boolean) ?? DEFAULTS.console,
    log: fields.optional("log", readLog) ?? DEFAULTS.log,
    auditRetentionDays: orNull(fields.optional("audit", readAudit), DEFAULTS.auditRetentionDays),
    limits: fields.optional("limits", readLimits) ?? DEFAULTS.limits,
  };
  fields.close();
  return configuration;
};

/** A reader says undefined for nothing; what is switched off it says by `off`. */
function orNull<T>(value: T | "off" | undefined, standard: T | null): T | null {
  if (value === undefined) return standard;
  return value === "off" ? null : value;
}

const readTls: Reader<TlsFiles> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const certFile = fields.required("cert_file", absolutePath);
  const keyFile = fields.required("key_file", absolutePath);
  fields.close();
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
};

const readLog: Reader<LogConfiguration> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const level = fields.optional("level", oneOf(...LOG_LEVELS)) ?? DEFAULTS.log.level;
  const requests = fields.optional("requests", boolean) ?? DEFAULTS.log.requests;
  fields.close();
  return { level, requests };
};

const readAudit: Reader<number | "off"> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const forever = fields.optional("keep_forever", boolean) ?? false;
  const days = fields.optional("retention_days", integer(AUDIT_RETENTION_DAYS)) ?? AUDIT_RETENTION_DAYS.standard;
  if (forever && isWritten(place, "retention_days")) {
    const message = "keep_forever and retention_days are both set; leave one of them out";
    place.check.findings.error("conflict", place.path, place.node.offset, message);
  }
  fields.close();
  return forever ? "off" : days;
};
