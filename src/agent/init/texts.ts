/** The two commented files that `init` writes. */
import { stringify } from "yaml";

import { ROBOT_TEXT_NAMES, ROBOT_TEXTS, type RobotTextName } from "../../api/robot-texts.ts";
import { type JointUnit, lerobotUnit, READY_CATALOG } from "../../manifest/catalog/ids.ts";
import type { CatalogRow } from "../../manifest/catalog/rows.ts";
import { DEFAULTS, LOG_FORMATS, LOG_LEVELS } from "../configuration/keys.ts";
import type { GroupRanges } from "./detect/detection.ts";

/** The values of a configuration; null for unknown ones. */
export interface ConfigurationValues extends Readonly<Partial<Record<RobotTextName, string | null>>> {
  readonly url: string | null;
  readonly region: string | null;
  readonly keyFile: string;
  readonly caFile: string | null;
  readonly allowInsecure: boolean;
  readonly proxy: string | null;
  readonly enrolmentKeyFile: string | null;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** True when the manifest has paths that begin with `~/`. */
  readonly hasHomePaths: boolean;
}

/** Placeholders for a person to replace; `check` reports them. */
const URL_PLACEHOLDER = "<address of the service, https://HOST>";
const REGION_PLACEHOLDER = "<cloud region nearest to the robot>";
const HOME_PLACEHOLDER = "<home folder that ~/ in the manifest stands for>";

const REMARK_COLUMN = 32;

/**
 * The agent's configuration with comments. config/config.example.yaml is its output for an example robot.
 *
 * @param hint the second line: the path of the file and what to do with it.
 */
export function configurationText(values: ConfigurationValues, hint: string): string {
  const { url, region, keyFile, caFile, allowInsecure, proxy, enrolmentKeyFile, name, labels, hasHomePaths } = values;
  return `# Configuration of robot-policy-agent: how to reach the service, and who this robot is.
# ${hint}
# Lines that start with # are switched off; those below show the defaults.

service:
  # Base address of the robot policy service, https; plain http on this machine only. Leave the /v1 out.
  url: ${yamlText(url ?? URL_PLACEHOLDER)}

  # File that holds the API key, and nothing else: chmod 600, owned by the agent's user.
  # Not needed where systemd hands the key over (LoadCredential=api-key:...). Never write the key itself into this file.
  key_file: ${yamlText(keyFile)}

  # With "enrolled" the robot gets a credential of its own, approved once by an operator, and uses no API key.
  # With "key" it uses the API key, until somebody runs: robot-policy-agent enroll
  ${enrolmentKeyFile === null ? `# identity: ${DEFAULTS.service.identity}` : "identity: enrolled"}

  # File that holds a key for enrolment only (robot-policy keys create --enroll): with it no operator has to approve.
  # The agent removes the file once the robot is enrolled, so it must be where the agent may write.
  ${line("enrolment_key_file", enrolmentKeyFile, "/var/lib/robot-policy-agent/enrolment-key")}

  # The organization in which the robot enrolls, as robot-policy whoami shows it: no other one can approve it.
  # organization_id: org_0123456789abcdefghijklmnop

  # How often an enrolled robot tells the service that it is alive, in seconds.
  # heartbeat_s: ${DEFAULTS.service.heartbeat_s}

  # Certificate of your own CA (PEM), if the service has one that the system does not know.
  ${line("ca_file", caFile, "/etc/ssl/certs/factory-ca.pem")}

  # Proxy, or "none" for no proxy. Without this line the agent uses HTTPS_PROXY and NO_PROXY of its unit, not of your shell.
  ${line("proxy", proxy, "http://proxy.factory.example:3128")}

  # Plain http to other machines: the API key then crosses the network unencrypted.
  ${allowInsecure ? "allow_insecure: true" : "# allow_insecure: false"}

  # connect_timeout_s: ${DEFAULTS.service.connect_timeout_s}
  # headers_timeout_s: ${DEFAULTS.service.headers_timeout_s}
  # request_timeout_s: ${DEFAULTS.service.request_timeout_s}

robot:
  # Unique and stable. {hostname} and {machine_id} are filled in, so that one image serves many robots.
  name: ${yamlText(name)}

  # Cloud region nearest to the robot. Ask whoever runs the service for its regions.
  region: ${yamlText(region ?? REGION_PLACEHOLDER)}

${ROBOT_TEXT_NAMES.map((text) => textLines(text, values[text] ?? null)).join("\n")}
  # Your own names and values, to select robots by. Write numbers in quotes.
${labelLines(labels)}

  # What ~/ in the manifest stands for. Needed only if the manifest uses it.
  ${hasHomePaths ? `home: ${yamlText(HOME_PLACEHOLDER)}` : "# home: /home/robot"}

# The robot manifest. Without this line: robot-manifest.yaml beside this file.
# manifest: /etc/robot-policy-agent/robot-manifest.yaml

# watch:
${switchedOff("settle_ms", DEFAULTS.watch.settle_ms, "how long files must hold still before they count")}
${switchedOff("resync_s", DEFAULTS.watch.resync_s, "how often everything is checked, with or without events")}
${switchedOff("poll_s", DEFAULTS.watch.poll_s, "how often, where no events come (network drives, files mounted one by one)")}
${switchedOff("file_limit_bytes", DEFAULTS.watch.file_limit_bytes, "larger configuration files are refused")}

# log:
${switchedOff("level", DEFAULTS.log.level, LOG_LEVELS.join(", ").replace(/, (\w+)$/, " or $1"))}
${switchedOff("format", DEFAULTS.log.format, LOG_FORMATS.join(" or "))}
`;
}

/** Switched off, with an example, where there is no value. */
function line(key: string, value: string | null, example: string): string {
  return value === null ? `# ${key}: ${example}` : `${key}: ${yamlText(value)}`;
}

function textLines(name: RobotTextName, value: string | null): string {
  const { comment, example, length } = ROBOT_TEXTS[name];
  return `  # ${comment}; ${length.minimum} to ${length.maximum} characters.
  ${line(name, value, example)}
`;
}

function labelLines(labels: ConfigurationValues["labels"]): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return '  # labels:\n  #   line: "4"';
  return ["  labels:", ...entries.map(([name, value]) => `    ${yamlText(name)}: ${yamlText(value)}`)].join("\n");
}

/** A commented-out line with a default and an aligned remark. */
function switchedOff(key: string, value: string | number, remark: string): string {
  return `#   ${`${key}: ${value}`.padEnd(REMARK_COLUMN)}# ${remark}`;
}

/** A string as a YAML scalar on one line, in quotes where YAML 1.1 or 1.2 would read another value or break it. */
export function yamlText(text: string): string {
  return stringify(text, { lineWidth: 0, blockQuote: false, compat: "yaml-1.1" }).replace(/\n$/, "");
}

/** The values of a manifest; null for unknown ones. */
export interface ManifestValues {
  readonly robotTypeId: string | null;
  /** The type to extend; null to be of the type. */
  readonly base: CatalogRow | null;
  /** What the joints of a LeRobot robot are in. */
  readonly unit: JointUnit | null;
  /** Paths, in digest order. */
  readonly files: readonly string[];
  /** Entries of devices, behind the files. */
  readonly devices?: readonly string[];
  /** The arm's own, as limits. */
  readonly ranges?: readonly GroupRanges[];
}

/** A placeholder for a person to replace; `check` reports it. */
const TYPE_PLACEHOLDER = "<id from: robot-policy-agent catalog>";

/**
 * The robot manifest with comments, and with placeholders for what depends on the robot. config/robot-manifest.example.yaml is its output
 * for an example robot.
 *
 * @param hint the second line: the path of the file and what to do with it.
 */
export function manifestText(values: ManifestValues, hint: string): string {
  const { robotTypeId, base, files, devices = [] } = values;
  const type = base === null ? typeText(robotTypeId) : extensionText(base);
  const isDraft = files.length === 0;
  const listed = [...files.map((path) => `- ${yamlText(path)}`), ...devices];
  return `# Robot manifest: what type of robot this is, and which files decide how it behaves.
# ${hint}

${type}
# For people only.
# display_name: Packing cell, two YAM arms

# "draft" while you are still writing: checked, but never registered. Then "ready".
${isDraft ? "# A draft, because no configuration files are listed below. List them, then write: ready\nstatus: draft" : "status: ready"}

${base === null ? "" : `${unitText(base, values)}${base.cameras === "user" ? CAMERAS_TEXT : CAMERAS_HINT}\n`}\
# Files that decide how a command becomes motion: calibration, limits, which arm is left. No logs, data or keys.
# Their order counts: keep it. Any change of their content registers the robot again.
# A label is shown instead of a path: {label: left arm, path: /opt/yam/configs/yam_left.yaml}
${listed.length === 0 ? usualFiles(base?.robot_type_id ?? robotTypeId) : `configuration_files:\n${listed.map((line) => `  ${line}`).join("\n")}`}
# Cameras and adapters count by what they are: a swap registers the robot again. Their lines: robot-policy-agent devices
#  - {label: front camera, device: /dev/v4l/by-id/usb-046d_HD_Pro_Webcam_C920_4F3A21DF-video-index0}
`;
}

function typeText(robotTypeId: string | null): string {
  const units = robotTypeId === null ? null : lerobotUnit(robotTypeId);
  return `# The type's id in the service's catalog. All of them: robot-policy-agent catalog
robot_type_id: ${yamlText(robotTypeId ?? TYPE_PLACEHOLDER)}
${units === null ? "" : `# Its joints are in ${units.deg}.\n`}`;
}

function extensionText({ robot_type_id: robotTypeId, display_name: displayName }: CatalogRow): string {
  const short = robotTypeId.split(".").slice(1, -1).join("-");
  return `# An id of your own: vendor, name, version. When the robot changes permanently, increase the version.
robot_type_id: ${yamlText(`<yourname.${short}.v1>`)}

# Where it starts: ${displayName}.
# Joints, units, limits: robot-policy-agent catalog ${robotTypeId}. What you write below replaces what the type says.
extends: ${robotTypeId}
`;
}

/** Without an answer, a placeholder: the wrong unit would go unnoticed. */
function unitText({ robot_type_id: robotTypeId, groups }: CatalogRow, { unit, ranges = [] }: ManifestValues): string {
  const units = lerobotUnit(robotTypeId);
  if (units === null) return "";
  const value = yamlText(unit ?? "<deg or calibrated_range>");
  const arms = groups
    .filter(({ kind }) => kind === "arm")
    .map(({ name, limits }) => {
      const joints = ranges.find(({ group }) => group === name)?.joints ?? [];
      if (unit !== "deg" || joints.length === 0) return `  - {name: ${name}, unit: ${value}}\n`;
      const position = joints.map(({ deg: [low, high] }) => `[${low}, ${high}]`).join(", ");
      // In degrees, downwards: higher speeds than those of the type would be doubted.
      const speed = typeof limits?.velocity === "number" ? Math.floor((limits.velocity * 1800) / Math.PI) / 10 : null;
      const velocity = speed === null ? "" : `, velocity: ${speed}`;
      return `  # Limits from the calibration, ${joints.map(({ joint }) => joint).join(", ")}.
  - {name: ${name}, unit: deg, limits: {position: [${position}]${velocity}}}\n`;
    });
  return `# What the joints are in.
# deg: ${units.deg}.
# calibrated_range: ${units.calibrated_range}.
groups:
${arms.join("")}
`;
}

const CAMERAS_TEXT = `# What the policy sees: one entry for each camera, with the size of the image as it is sent.
cameras:
  - role: <front, wrist, top, … as the policy calls it>
    mount: <exterior, wrist, head or base>
    width: <pixels>
    height: <pixels>
    fps: <frames a second that really arrive>
`;

const CAMERAS_HINT = `# The cameras are those of the type. Others replace all of them:
# cameras:
#   - {role: top, mount: exterior, width: 640, height: 480, fps: 30}
`;

function usualFiles(robotTypeId: string | null): string {
  const usual = READY_CATALOG.get(robotTypeId ?? "")?.files ?? ["/path/of/a/calibration.yaml"];
  return ["configuration_files: []", "# configuration_files:", ...usual.map((path) => `#   - ${path}`)].join("\n");
}
