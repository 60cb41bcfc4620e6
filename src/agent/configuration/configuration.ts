/**
 * The agent's configuration: how to reach the service, the identity of the robot, the path of its manifest. It belongs to the installation;
 * the manifest describes the robot itself.
 *
 * The same strict reader as for the manifest reads it and reports all findings at once. The result has every default filled in, and its
 * members have the names of the keys.
 */
import { dirname, join } from "node:path";

import type { Place, Reader } from "../../manifest/fields.ts";
import { fieldsOf } from "../../manifest/fields.ts";
import { absolutePath, boolean, integer, number, oneOf } from "../../manifest/readers.ts";
import type { SettingsReading } from "../../manifest/settings.ts";
import { readSettings } from "../../manifest/settings.ts";
import { labels, nameTemplate, proxyAddress, region, registeredText, serviceUrl } from "./readers.ts";

export interface AgentConfiguration {
  readonly service: ServiceConfiguration;
  readonly robot: RobotConfiguration;
  /** Absolute path of the robot manifest. */
  readonly manifest: string;
  readonly watch: WatchConfiguration;
  readonly log: LogConfiguration;
}

export interface ServiceConfiguration {
  /** Without a trailing slash. */
  readonly url: string;
  readonly key_file: string | null;
  readonly ca_file: string | null;
  /** Address of a proxy, `none`, or null to use the environment. */
  readonly proxy: string | null;
  /** Allows sending the key unencrypted. */
  readonly allow_insecure: boolean;
  readonly connect_timeout_s: number;
  readonly headers_timeout_s: number;
  readonly request_timeout_s: number;
}

export interface RobotConfiguration {
  /** A template; see `expandName`. */
  readonly name: string;
  readonly region: string;
  readonly site: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** The folder for `~/` in the manifest. */
  readonly home: string | null;
}

export interface WatchConfiguration {
  /** How long files must be unchanged before they are read. */
  readonly settle_ms: number;
  /** Period of the resync. */
  readonly resync_s: number;
  /** Period of polling, where there are no events. */
  readonly poll_s: number;
  /** Larger files are refused. */
  readonly file_limit_bytes: number;
}

export interface LogConfiguration {
  readonly level: (typeof LOG_LEVELS)[number];
  readonly format: (typeof LOG_FORMATS)[number];
}

export const CONFIGURATION_LIMIT_BYTES = 1_048_576;
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export const LOG_FORMATS = ["json", "text"] as const;
export const SITE_LIMIT = 128;
export const TIMEOUT_BOUNDS = { minimum: 1, maximum: 300 } as const;
export const SETTLE_BOUNDS = { minimum: 0, maximum: 60_000 } as const;
export const RESYNC_BOUNDS = { minimum: 5, maximum: 3600 } as const;
export const POLL_BOUNDS = { minimum: 1, maximum: 300 } as const;
export const FILE_LIMIT_BOUNDS = { minimum: 1, maximum: 64 * 1024 ** 3 } as const;

export const DEFAULTS = {
  allowInsecure: false,
  connectTimeoutS: 10,
  headersTimeoutS: 15,
  requestTimeoutS: 30,
  name: "{hostname}",
  manifest: "robot-manifest.yaml",
  settleMs: 500,
  resyncS: 60,
  pollS: 5,
  fileLimitBytes: 1024 ** 3,
  level: "info",
  format: "json",
} as const;

/** Names of these keys in other agents and older versions. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["robot_type_id", "it belongs to the robot manifest, robot-manifest.yaml"],
  ["configuration_files", "it belongs to the robot manifest, robot-manifest.yaml"],
]);

const SECRET_ADVICE = ": put it into a file of its own and name that as service.key_file";

export interface ConfigurationContext {
  /** Absolute path of the file; the default path of the manifest is in the same folder. */
  readonly path: string;
}

/** Reads a configuration and reports all findings. */
export function readConfiguration(
  bytes: Uint8Array,
  context: ConfigurationContext,
): SettingsReading<AgentConfiguration> {
  const rules = {
    subject: "configuration",
    size_limit_bytes: CONFIGURATION_LIMIT_BYTES,
    secretAdvice: SECRET_ADVICE,
    hints: HINTS,
  } as const;
  return readSettings(bytes, rules, (root) => readRoot(root, context));
}

/** The placeholders of a name template. */
export interface NameFacts {
  readonly hostname: string;
  readonly machineId: string;
}

/** The robot's name. The caller checks its length. */
export function expandName(template: string, facts: NameFacts): string {
  return template.replaceAll(/\{(hostname|machine_id)\}/g, (_, fact) =>
    fact === "hostname" ? facts.hostname : facts.machineId,
  );
}

function readRoot(root: Place, context: ConfigurationContext): AgentConfiguration | undefined {
  const fields = fieldsOf(root);
  if (fields === undefined) return undefined;
  const service = fields.required("service", readService);
  const robot = fields.required("robot", readRobot);
  const manifest = fields.optional("manifest", absolutePath) ?? join(dirname(context.path), DEFAULTS.manifest);
  const watch = fields.optional("watch", readWatch) ?? WATCH_DEFAULTS;
  const log = fields.optional("log", readLog) ?? LOG_DEFAULTS;
  fields.close();
  return service === undefined || robot === undefined ? undefined : { service, robot, manifest, watch, log };
}

const readService: Reader<ServiceConfiguration> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const allowInsecure = fields.optional("allow_insecure", boolean) ?? DEFAULTS.allowInsecure;
  const url = fields.required("url", serviceUrl(allowInsecure));
  const keyFile = fields.optional("key_file", absolutePath) ?? null;
  const caFile = fields.optional("ca_file", absolutePath) ?? null;
  const proxy = fields.optional("proxy", proxyAddress) ?? null;
  const requestTimeoutS = fields.optional("request_timeout_s", number(TIMEOUT_BOUNDS)) ?? DEFAULTS.requestTimeoutS;
  // A part of a request cannot take longer than the whole: shorten the defaults, but not explicit values.
  const part = within(requestTimeoutS);
  const connectTimeoutS =
    fields.optional("connect_timeout_s", part) ?? Math.min(DEFAULTS.connectTimeoutS, requestTimeoutS);
  const headersTimeoutS =
    fields.optional("headers_timeout_s", part) ?? Math.min(DEFAULTS.headersTimeoutS, requestTimeoutS);
  fields.close();
  if (url === undefined) return undefined;
  return {
    url,
    key_file: keyFile,
    ca_file: caFile,
    proxy,
    allow_insecure: allowInsecure,
    connect_timeout_s: connectTimeoutS,
    headers_timeout_s: headersTimeoutS,
    request_timeout_s: requestTimeoutS,
  };
};

/** A timeout that is at most that of the whole request. */
function within(requestTimeoutS: number): Reader<number> {
  return (place) => {
    const timeoutS = number(TIMEOUT_BOUNDS)(place);
    if (timeoutS === undefined || timeoutS <= requestTimeoutS) return timeoutS;
    const message = `${timeoutS} s is longer than the whole request may take, request_timeout_s: ${requestTimeoutS}`;
    place.check.findings.error("timeout_order", place.path, place.node.offset, message);
    return undefined;
  };
}

const readRobot: Reader<RobotConfiguration> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const name = fields.optional("name", nameTemplate) ?? DEFAULTS.name;
  const robotRegion = fields.required("region", region);
  const site = fields.optional("site", registeredText(SITE_LIMIT)) ?? null;
  const robotLabels = fields.optional("labels", labels) ?? {};
  const home = fields.optional("home", absolutePath) ?? null;
  fields.close();
  return robotRegion === undefined ? undefined : { name, region: robotRegion, site, labels: robotLabels, home };
};

const WATCH_DEFAULTS: WatchConfiguration = {
  settle_ms: DEFAULTS.settleMs,
  resync_s: DEFAULTS.resyncS,
  poll_s: DEFAULTS.pollS,
  file_limit_bytes: DEFAULTS.fileLimitBytes,
};

const readWatch: Reader<WatchConfiguration> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const settleMs = fields.optional("settle_ms", integer(SETTLE_BOUNDS)) ?? DEFAULTS.settleMs;
  const resyncS = fields.optional("resync_s", number(RESYNC_BOUNDS)) ?? DEFAULTS.resyncS;
  const pollS = fields.optional("poll_s", number(POLL_BOUNDS)) ?? DEFAULTS.pollS;
  const fileLimitBytes = fields.optional("file_limit_bytes", integer(FILE_LIMIT_BOUNDS)) ?? DEFAULTS.fileLimitBytes;
  fields.close();
  return { settle_ms: settleMs, resync_s: resyncS, poll_s: pollS, file_limit_bytes: fileLimitBytes };
};

const LOG_DEFAULTS: LogConfiguration = { level: DEFAULTS.level, format: DEFAULTS.format };

const readLog: Reader<LogConfiguration> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const level = fields.optional("level", oneOf(...LOG_LEVELS)) ?? DEFAULTS.level;
  const format = fields.optional("format", oneOf(...LOG_FORMATS)) ?? DEFAULTS.format;
  fields.close();
  return { level, format };
};
