/** The keys of the agent's configuration: what reads each, its default, and what an editor tells of it. */
import { eachOf, ROBOT_TEXT_NAMES, ROBOT_TEXTS, type RobotTextName } from "../../api/robot-texts.ts";
import { described, fail, mapping, type Reader } from "../../documents/fields.ts";
import {
  defaultsOf,
  keysReader,
  mappingSchema,
  optional,
  readKeys,
  required,
  type ValuesOf,
  withDefault,
} from "../../documents/keys.ts";
import { absolutePath, boolean, integer, number, oneOf } from "../../documents/readers.ts";
import { labels, nameTemplate, proxyAddress, region, registeredText, serviceUrl } from "./readers.ts";

export interface ServiceConfiguration extends ValuesOf<typeof SERVICE>, ValuesOf<typeof TIMEOUTS> {
  /** Without a trailing slash. */
  readonly url: string;
}

export interface RobotConfiguration extends Readonly<Record<RobotTextName, string | null>>, ValuesOf<typeof ROBOT> {
  readonly region: string;
}

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export const LOG_FORMATS = ["json", "text"] as const;
const IDENTITIES = ["key", "enrolled"] as const;
/** Name of the manifest that is used by default, in the folder of the configuration. */
export const MANIFEST_NAME = "robot-manifest.yaml";

/** A robot counts as online for 90 s after a heartbeat. */
const HEARTBEAT_BOUNDS = { minimum: 5, maximum: 90 };
/** Characters of an id, as the service takes it. */
const ORGANIZATION_LIMIT = 128;
const TIMEOUT = number({ minimum: 1, maximum: 300 });

const SERVICE = {
  key_file: withDefault(
    absolutePath,
    null,
    "File that holds the API key. Not needed where systemd hands the key over.",
  ),
  identity: withDefault(
    oneOf(...IDENTITIES),
    "key",
    "enrolled: the robot gets a credential of its own, which an operator approves, and uses no API key. key: it uses the API key until it is enrolled.",
  ),
  enrolment_key_file: withDefault(
    absolutePath,
    null,
    "File that holds a key for enrolment only, so that no operator has to approve.",
  ),
  organization_id: withDefault(
    registeredText(ORGANIZATION_LIMIT),
    null,
    "Enroll in this organization only: no other one can approve the robot. robot-policy whoami shows the id.",
  ),
  heartbeat_s: withDefault(number(HEARTBEAT_BOUNDS), 30, "Seconds between heartbeats of an enrolled robot."),
  ca_file: withDefault(absolutePath, null, "Certificates (PEM) to trust beside the system's, for a private CA."),
  proxy: withDefault(
    proxyAddress,
    null,
    "http(s) proxy, with user name and password if it wants them; none: no proxy. Default: what HTTPS_PROXY and NO_PROXY say.",
  ),
  allow_insecure: withDefault(
    boolean,
    false,
    "Allow plain http to another machine. Anyone on the way can then read the API key.",
  ),
  request_timeout_s: withDefault(TIMEOUT, 30, "Seconds for a request as a whole."),
} as const;

const TIMEOUTS = {
  connect_timeout_s: withDefault(TIMEOUT, 10, "Seconds to wait for a connection."),
  headers_timeout_s: withDefault(TIMEOUT, 15, "Seconds to wait for an answer to begin."),
} as const;

const URL = { url: required(serviceUrl(true), "Base address, https://HOST, without /v1.") };

const readService = described(
  mappingSchema({ ...URL, ...SERVICE, ...TIMEOUTS }),
  mapping((fields): ServiceConfiguration | undefined => {
    const settings = readKeys(fields, SERVICE);
    const url = fields.required("url", serviceUrl(settings.allow_insecure));
    // A part of a request cannot take longer than the whole: shorten the defaults, but not explicit values.
    const { request_timeout_s: requestTimeoutS } = settings;
    const part = (key: keyof typeof TIMEOUTS) =>
      fields.optional(key, within(requestTimeoutS)) ?? Math.min(TIMEOUTS[key].standard, requestTimeoutS);
    const parts = { connect_timeout_s: part("connect_timeout_s"), headers_timeout_s: part("headers_timeout_s") };
    return url === undefined ? undefined : { url, ...settings, ...parts };
  }),
);

/** A timeout that is at most that of the whole request. */
function within(requestTimeoutS: number): Reader<number> {
  return (place) => {
    const timeoutS = TIMEOUT(place);
    if (timeoutS === undefined || timeoutS <= requestTimeoutS) return timeoutS;
    const message = `${timeoutS} s is longer than the whole request may take, request_timeout_s: ${requestTimeoutS}`;
    return fail(place, "timeout_order", message);
  };
}

const ROBOT = {
  name: withDefault(
    nameTemplate,
    "{hostname}",
    "Unique and stable. {hostname} and {machine_id} are filled in, so that one image serves a fleet.",
  ),
  labels: withDefault(labels, {}, "Your own names and values, by which fleets select robots. Write numbers in quotes."),
  home: withDefault(absolutePath, null, "What ~/ in the manifest stands for."),
} as const;

const ROBOT_KEYS = {
  region: required(region, "Cloud region nearest to the robot."),
  ...eachOf(ROBOT_TEXT_NAMES, (text) => {
    const { length, setting } = ROBOT_TEXTS[text];
    return withDefault(registeredText(length.maximum, length.minimum), null, setting);
  }),
  ...ROBOT,
} as const;

const readRobot = keysReader(ROBOT_KEYS, ({ region, ...robot }): RobotConfiguration | undefined =>
  region === undefined ? undefined : { region, ...robot },
);

export const WATCH = {
  settle_ms: withDefault(
    integer({ minimum: 0, maximum: 60_000 }),
    500,
    "Milliseconds that files must hold still before they are hashed.",
  ),
  resync_s: withDefault(
    number({ minimum: 5, maximum: 3600 }),
    60,
    "Seconds between checks of everything, with or without events.",
  ),
  poll_s: withDefault(
    number({ minimum: 1, maximum: 300 }),
    5,
    "Seconds between checks where the system reports no changes, as of network drives and of files that are mounted one by one.",
  ),
  file_limit_bytes: withDefault(
    integer({ minimum: 1, maximum: 64 * 1024 ** 3 }),
    1024 ** 3,
    "Larger configuration files are refused.",
  ),
} as const;

export const LOG = {
  level: withDefault(oneOf(...LOG_LEVELS), "info", "Least severe messages that are logged."),
  format: withDefault(oneOf(...LOG_FORMATS), "json", "json for machines, text for people."),
} as const;

export const DEFAULTS = {
  service: { ...defaultsOf(SERVICE), ...defaultsOf(TIMEOUTS) },
  robot: defaultsOf(ROBOT),
  watch: defaultsOf(WATCH),
  log: defaultsOf(LOG),
};

export const KEYS = {
  service: required(readService, "How to reach the robot policy service."),
  robot: required(readRobot, "Who this robot is."),
  manifest: optional(absolutePath, `Absolute path of the robot manifest. Default: ${MANIFEST_NAME} beside this file.`),
  watch: withDefault(
    keysReader(WATCH, (watch) => watch),
    DEFAULTS.watch,
    "How configuration files are watched.",
  ),
  log: withDefault(
    keysReader(LOG, (log) => log),
    DEFAULTS.log,
    "What is logged, and how.",
  ),
} as const;
