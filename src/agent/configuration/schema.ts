import { REGION_FORM } from "../../manifest/registered-text.ts";
import {
  DEFAULTS,
  FILE_LIMIT_BOUNDS,
  LOG_FORMATS,
  LOG_LEVELS,
  POLL_BOUNDS,
  RESYNC_BOUNDS,
  SETTLE_BOUNDS,
  SITE_LIMIT,
  TIMEOUT_BOUNDS,
} from "./configuration.ts";
import { LABEL_KEY_LIMIT, LABEL_LIMIT, LABEL_VALUE_LIMIT, LONGEST_TEMPLATE, REGION_LIMIT } from "./readers.ts";

type Schema = Readonly<Record<string, unknown>>;

/** JSON Schema (2020-12) of the agent's configuration, for editors. `check` reports more errors than a schema can. */
export function configurationSchema(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of robot-policy-agent",
    ...mapping(
      "How to reach the service, who this robot is, and where its manifest lies.",
      {
        service: service(),
        robot: robot(),
        manifest: path(`Absolute path of the robot manifest. Default: ${DEFAULTS.manifest} beside this file.`),
        watch: watch(),
        log: log(),
      },
      ["service", "robot"],
    ),
  };
}

function service(): Schema {
  return mapping(
    "The robot policy service, and the way to it.",
    {
      url: {
        type: "string",
        pattern: "^https?://[^/?#@]+(?:/[^?#]*)?$",
        description: "Base address, https://HOST. Requests add /v1 and on.",
      },
      key_file: path("File that holds the API key. Not needed where systemd hands the key over."),
      ca_file: path("Certificates (PEM) to trust beside the system's, for a private CA."),
      proxy: {
        type: "string",
        minLength: 1,
        description:
          "http(s) proxy, with user name and password if it wants them; none: no proxy. Default: what HTTPS_PROXY and NO_PROXY say.",
      },
      allow_insecure: {
        type: "boolean",
        default: DEFAULTS.allowInsecure,
        description: "Allow plain http to another machine. Anyone on the way can then read the API key.",
      },
      connect_timeout_s: quantity(
        "number",
        TIMEOUT_BOUNDS,
        DEFAULTS.connectTimeoutS,
        "Seconds to wait for a connection.",
      ),
      headers_timeout_s: quantity(
        "number",
        TIMEOUT_BOUNDS,
        DEFAULTS.headersTimeoutS,
        "Seconds to wait for an answer to begin.",
      ),
      request_timeout_s: quantity(
        "number",
        TIMEOUT_BOUNDS,
        DEFAULTS.requestTimeoutS,
        "Seconds for a request as a whole.",
      ),
    },
    ["url"],
  );
}

function robot(): Schema {
  return mapping(
    "Who this robot is.",
    {
      name: {
        type: "string",
        minLength: 1,
        maxLength: LONGEST_TEMPLATE,
        pattern: "^(?:[^{}]|\\{hostname\\}|\\{machine_id\\})*$",
        default: DEFAULTS.name,
        description: "Unique and stable. {hostname} and {machine_id} are filled in, so that one image serves a fleet.",
      },
      region: {
        type: "string",
        minLength: 1,
        maxLength: REGION_LIMIT,
        pattern: REGION_FORM.source,
        description: "Cloud region nearest to the robot.",
      },
      site: {
        type: "string",
        minLength: 1,
        maxLength: SITE_LIMIT,
        description: "Where the robot stands; fleets are selected by it.",
      },
      labels: {
        type: "object",
        maxProperties: LABEL_LIMIT,
        propertyNames: { minLength: 1, maxLength: LABEL_KEY_LIMIT },
        additionalProperties: { type: "string", maxLength: LABEL_VALUE_LIMIT },
        default: {},
        description: "Your own names and values; fleets are selected by them. Write numbers in quotes.",
      },
      home: path("What ~/ in the manifest stands for."),
    },
    ["region"],
  );
}

function watch(): Schema {
  return mapping("How configuration files are watched.", {
    settle_ms: quantity(
      "integer",
      SETTLE_BOUNDS,
      DEFAULTS.settleMs,
      "Milliseconds that files must hold still before they are hashed.",
    ),
    resync_s: quantity(
      "number",
      RESYNC_BOUNDS,
      DEFAULTS.resyncS,
      "Seconds between looks at everything, whatever the events say.",
    ),
    poll_s: quantity(
      "number",
      POLL_BOUNDS,
      DEFAULTS.pollS,
      "Seconds between looks where the system reports no changes.",
    ),
    file_limit_bytes: quantity(
      "integer",
      FILE_LIMIT_BOUNDS,
      DEFAULTS.fileLimitBytes,
      "Larger configuration files are refused.",
    ),
  });
}

function log(): Schema {
  return mapping("What is logged, and how.", {
    level: { enum: [...LOG_LEVELS], default: DEFAULTS.level, description: "Least severe messages that are logged." },
    format: { enum: [...LOG_FORMATS], default: DEFAULTS.format, description: "json for machines, text for people." },
  });
}

function mapping(
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema {
  return {
    type: "object",
    description,
    required: [...required],
    additionalProperties: false,
    patternProperties: { "^x-": { description: "Ignored: a place for your own notes." } },
    properties,
  };
}

function path(description: string): Schema {
  return { type: "string", pattern: "^/(?:.*[^/])?$", maxLength: 4096, description };
}

function quantity(
  type: "number" | "integer",
  { minimum, maximum }: { readonly minimum: number; readonly maximum: number },
  standard: number,
  description: string,
): Schema {
  return { type, minimum, maximum, default: standard, description };
}
