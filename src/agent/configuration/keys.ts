/** The keys of the agent's configuration: what each may be, its default, and what an editor tells of it. */
import * as z from "zod";

import { eachOf, REGION_EXPECTED, REGION_FORM, ROBOT_TEXT_NAMES, ROBOT_TEXTS } from "../../api/robot-texts.ts";
import { DIRECT, parseProxy } from "../../client/transport/proxy.ts";
import { parseServiceUrl } from "../../client/transport/service-url.ts";
import {
  absolutePath,
  integer,
  isText,
  normalText,
  number,
  OF_MAPPING,
  orNull,
  refuse,
  rightMembers,
  text,
} from "../../documents/schemas.ts";
import { holdsCredentials, isSecretKey } from "../../documents/secrets.ts";
import { shown } from "../../documents/texts.ts";

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

const LABEL_LIMIT = 32;
const LABEL_KEY_LIMIT = 64;
const LABEL_VALUE_LIMIT = 256;
/** Spec section 8, in code points. */
export const NAME_LIMIT = 64;
const REGION_LIMIT = 256;

/** An http(s) address, with user name and password if the proxy requires them, or `none`. */
const proxyAddress = z
  .string()
  .overwrite((written) => written.trim())
  .superRefine((written, ctx) => {
    // Do not repeat the address, which may contain a password.
    if (written === DIRECT || (written !== "" && parseProxy(written).kind === "proxy")) return;
    refuse(ctx, { id: "url_format", message: "expected the address of a proxy, http://HOST:PORT, or none" });
  })
  .meta({ minLength: 1 });

/** A text that is registered, where every operator can read it. Refuses an address with a password. */
function registeredText(maximum: number, minimum = 1) {
  return text(maximum, minimum).superRefine((written, ctx) => {
    if (!holdsCredentials(written)) return;
    const message = "this address contains a user name or password, and this value is registered; remove them";
    refuse(ctx, { id: "secret_in_configuration", message });
  });
}

/** The code of a cloud region. The finding does not repeat the value, which may be a pasted address with a password. */
export const region = text(REGION_LIMIT)
  .superRefine((written, ctx) => {
    if (!isText(written, 1, REGION_LIMIT) || REGION_FORM.test(written)) return;
    refuse(ctx, { id: "region_format", message: `expected ${REGION_EXPECTED}` });
  })
  .meta({ minLength: 1, maxLength: REGION_LIMIT, pattern: REGION_FORM.source });

const PLACEHOLDERS: ReadonlySet<string> = new Set(["{hostname}", "{machine_id}"]);

/** The name of the robot with placeholders for what differs between robots. */
const nameTemplate = registeredText(NAME_LIMIT)
  .superRefine((template, ctx) => {
    const unknown = template.match(/\{[^{}]*\}?|\}/g)?.find((each) => !PLACEHOLDERS.has(each));
    if (unknown === undefined) return;
    const message = `${shown(unknown)} is no placeholder; use {hostname} or {machine_id}`;
    refuse(ctx, { id: "name_template", message });
  })
  .meta({ minLength: 1, maxLength: NAME_LIMIT, pattern: "^(?:[^{}]|\\{hostname\\}|\\{machine_id\\})*$" });

/** Here names that start with `x-` are labels too. */
const labels = z
  .record(z.string(), registeredText(LABEL_VALUE_LIMIT, 0))
  .superRefine((written, ctx) => {
    const names = Object.keys(written);
    if (names.length > LABEL_LIMIT) {
      const message = `expected 0 to ${LABEL_LIMIT} labels, found ${names.length}`;
      refuse(ctx, { id: "list_length", message });
      return;
    }
    const seen = new Set<string>();
    for (const key of names) {
      const name = normalText(key, LABEL_KEY_LIMIT);
      if (!isSecretKey(key) && !isText(name, 1, LABEL_KEY_LIMIT)) {
        const message = `expected a label name of 1 to ${LABEL_KEY_LIMIT} printable characters`;
        refuse(ctx, { id: "text_format", message, path: [key], isKey: true });
      } else if (seen.has(name)) {
        const message = `label ${shown(name)} is already set`;
        refuse(ctx, { id: "duplicate_name", message, path: [key], isKey: true });
      }
      seen.add(name);
    }
  }, OF_MAPPING)
  .meta({ maxProperties: LABEL_LIMIT, propertyNames: { minLength: 1, maxLength: LABEL_KEY_LIMIT } })
  .transform((written): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(written).map(([key, value]) => [normalText(key, LABEL_KEY_LIMIT), value])),
  );

const URL_FINDINGS: ReadonlyMap<string, string> = new Map([
  ["url-insecure", "insecure_url"],
  ["url-credentials", "secret_in_configuration"],
]);
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
      const id = URL_FINDINGS.get(parsed.code) ?? "url_format";
      refuse(ctx, { id, message: `${parsed.what}; ${parsed.fix}`, path: ["url"] });
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
