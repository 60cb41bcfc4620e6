/** The keys of the agent's configuration: what each may be, its default, and what an editor tells of it. */
import * as z from "zod";

import { eachOf, ROBOT_TEXT_NAMES, ROBOT_TEXTS } from "../../api/robot-texts.ts";
import { parseServiceUrl } from "../../client/transport/service-url.ts";
import { absolutePath, integer, number, OF_MAPPING, orNull, refuse, rightMembers } from "../../documents/schemas.ts";
import { labels, nameTemplate, proxyAddress, region, registeredText } from "./readers.ts";

export type ServiceConfiguration = Readonly<z.output<typeof service>>;

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export const LOG_FORMATS = ["json", "text"] as const;
const IDENTITIES = ["key", "enrolled"] as const;
/** Name of the manifest that is used by default, in the folder of the configuration. */
export const MANIFEST_NAME = "robot-manifest.yaml";

/** A robot counts as online for 90 s after a heartbeat. */
const HEARTBEAT_BOUNDS = { minimum: 5, maximum: 90 };
/** Characters of an id, as the service takes it. */
const ORGANIZATION_LIMIT = 128;
const timeout = number({ minimum: 1, maximum: 300 });

export const DEFAULTS = {
  service: {
    identity: "key",
    heartbeat_s: 30,
    request_timeout_s: 30,
    connect_timeout_s: 10,
    headers_timeout_s: 15,
  },
  robot: { name: "{hostname}" },
  watch: { settle_ms: 500, resync_s: 60, poll_s: 5, file_limit_bytes: 1024 ** 3 },
  log: { level: "info", format: "json" },
} as const;

const PARTS = ["connect_timeout_s", "headers_timeout_s"] as const;

const service = z
  .object({
    url: z
      .string()
      .meta({ pattern: "^https?://[^/?#@]+(?:/[^?#]*)?$" })
      .describe("Base address, https://HOST, without /v1."),
    key_file: orNull(absolutePath).describe(
      "File that holds the API key. Not needed where systemd hands the key over.",
    ),
    identity: z
      .enum(IDENTITIES)
      .default(DEFAULTS.service.identity)
      .describe(
        "enrolled: the robot gets a credential of its own, which an operator approves, and uses no API key. key: it uses the API key until it is enrolled.",
      ),
    enrolment_key_file: orNull(absolutePath).describe(
      "File that holds a key for enrolment only, so that no operator has to approve.",
    ),
    organization_id: orNull(registeredText(ORGANIZATION_LIMIT)).describe(
      "Enroll in this organization only: no other one can approve the robot. robot-policy whoami shows the id.",
    ),
    heartbeat_s: number(HEARTBEAT_BOUNDS)
      .default(DEFAULTS.service.heartbeat_s)
      .describe("Seconds between heartbeats of an enrolled robot."),
    ca_file: orNull(absolutePath).describe("Certificates (PEM) to trust beside the system's, for a private CA."),
    proxy: orNull(proxyAddress).describe(
      "http(s) proxy, with user name and password if it wants them; none: no proxy. Default: what HTTPS_PROXY and NO_PROXY say.",
    ),
    allow_insecure: z
      .boolean()
      .default(false)
      .describe("Allow plain http to another machine. Anyone on the way can then read the API key."),
    request_timeout_s: timeout
      .default(DEFAULTS.service.request_timeout_s)
      .describe("Seconds for a request as a whole."),
    connect_timeout_s: timeout
      .optional()
      .meta({ default: DEFAULTS.service.connect_timeout_s })
      .describe("Seconds to wait for a connection."),
    headers_timeout_s: timeout
      .optional()
      .meta({ default: DEFAULTS.service.headers_timeout_s })
      .describe("Seconds to wait for an answer to begin."),
  })
  .superRefine((written, ctx) => {
    const {
      url,
      allow_insecure: allowInsecure = false,
      request_timeout_s: wholeS,
      ...parts
    } = rightMembers(written, ctx);
    const parsed = url === undefined ? null : parseServiceUrl(url.trim(), allowInsecure);
    if (parsed?.kind === "url-problem") {
      refuse(ctx, { id: urlFindingId(parsed.code), message: `${parsed.what}; ${parsed.fix}`, path: ["url"] });
    }
    for (const part of PARTS) {
      const partS = parts[part];
      if (wholeS === undefined || partS === undefined || partS <= wholeS) continue;
      const message = `${partS} s is longer than the whole request may take, request_timeout_s: ${wholeS}`;
      refuse(ctx, { id: "timeout_order", message, path: [part] });
    }
  }, OF_MAPPING)
  .transform(({ url, ...settings }) => ({
    ...settings,
    /** Without a trailing slash. */
    url: baseAddress(url, settings.allow_insecure),
    // A part of a request cannot take longer than the whole: shorten the defaults.
    ...eachOf(PARTS, (part) => settings[part] ?? Math.min(DEFAULTS.service[part], settings.request_timeout_s)),
  }));

function baseAddress(written: string, allowInsecure: boolean): string {
  const parsed = parseServiceUrl(written.trim(), allowInsecure);
  return parsed.kind === "url" ? parsed.url.href.replace(/\/+$/, "") : written;
}

function urlFindingId(code: Extract<ReturnType<typeof parseServiceUrl>, { kind: "url-problem" }>["code"]): string {
  switch (code) {
    case "url-insecure":
      return "insecure_url";
    case "url-credentials":
      return "secret_in_configuration";
    case "url-invalid":
    case "url-scheme":
    case "url-query":
    case "url-versioned":
      return "url_format";
  }
}

const robot = z.object({
  region: region.describe("Cloud region nearest to the robot."),
  ...eachOf(ROBOT_TEXT_NAMES, (name) => {
    const { length, setting } = ROBOT_TEXTS[name];
    return orNull(registeredText(length.maximum, length.minimum)).describe(setting);
  }),
  name: nameTemplate
    .default(DEFAULTS.robot.name)
    .describe("Unique and stable. {hostname} and {machine_id} are filled in, so that one image serves a fleet."),
  labels: labels
    .default({})
    .describe("Your own names and values, by which fleets select robots. Write numbers in quotes."),
  home: orNull(absolutePath).describe("What ~/ in the manifest stands for."),
});

const watch = z.object({
  settle_ms: integer({ minimum: 0, maximum: 60_000 })
    .default(DEFAULTS.watch.settle_ms)
    .describe("Milliseconds that files must hold still before they are hashed."),
  resync_s: number({ minimum: 5, maximum: 3600 })
    .default(DEFAULTS.watch.resync_s)
    .describe("Seconds between checks of everything, with or without events."),
  poll_s: number({ minimum: 1, maximum: 300 })
    .default(DEFAULTS.watch.poll_s)
    .describe(
      "Seconds between checks where the system reports no changes, as of network drives and of files that are mounted one by one.",
    ),
  file_limit_bytes: integer({ minimum: 1, maximum: 64 * 1024 ** 3 })
    .default(DEFAULTS.watch.file_limit_bytes)
    .describe("Larger configuration files are refused."),
});

const log = z.object({
  level: z.enum(LOG_LEVELS).default(DEFAULTS.log.level).describe("Least severe messages that are logged."),
  format: z.enum(LOG_FORMATS).default(DEFAULTS.log.format).describe("json for machines, text for people."),
});

export const CONFIGURATION = z.object({
  service: service.describe("How to reach the robot policy service."),
  robot: robot.describe("Who this robot is."),
  manifest: absolutePath
    .optional()
    .describe(`Absolute path of the robot manifest. Default: ${MANIFEST_NAME} beside this file.`),
  watch: watch.default(DEFAULTS.watch).describe("How configuration files are watched."),
  log: log.default(DEFAULTS.log).describe("What is logged, and how."),
});
