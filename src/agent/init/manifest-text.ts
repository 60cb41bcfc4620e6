import { type JointUnit, lerobotUnit, READY_CATALOG } from "../../manifest/catalog/ids.ts";
import type { CatalogRow } from "../../manifest/catalog/rows.ts";
import { yamlText } from "./configuration-text.ts";

/** The values of a manifest; null for unknown ones. */
export interface ManifestValues {
  readonly robotTypeId: string | null;
  /** The type to extend; null to be of the type. */
  readonly base: CatalogRow | null;
  /** What the joints of a LeRobot robot are in. */
  readonly unit: JointUnit | null;
  readonly displayName: string | null;
  /** In digest order. */
  readonly files: readonly { readonly label: string | null; readonly path: string }[];
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
  const { robotTypeId, base, displayName, files } = values;
  const type = base === null ? typeText(robotTypeId) : extensionText(base);
  const isDraft = files.length === 0;
  return `# Robot manifest: what type of robot this is, and which files decide how it behaves.
# ${hint}

${type}
# For people only.
${displayName === null ? "# display_name: Packing cell, two YAM arms" : `display_name: ${yamlText(displayName)}`}

# "draft" while you are still writing: checked, but never registered. Then "ready".
${isDraft ? "# A draft, because no configuration files are listed below. List them, then write: ready\nstatus: draft" : "status: ready"}

${base === null ? "" : `${unitText(base, values.unit)}${base.cameras === "user" ? CAMERAS_TEXT : CAMERAS_HINT}\n`}\
# Files that decide how a command becomes motion: calibration, limits, which arm is left. No logs, data or keys.
# Their order counts: keep it. Any change of their content registers the robot again.
${isDraft ? usualFiles(base?.robot_type_id ?? robotTypeId) : `configuration_files:\n${files.map(fileLine).join("\n")}`}
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
function unitText({ robot_type_id: robotTypeId, groups }: CatalogRow, unit: JointUnit | null): string {
  const units = lerobotUnit(robotTypeId);
  if (units === null) return "";
  const value = yamlText(unit ?? "<deg or calibrated_range>");
  const arms = groups.filter(({ kind }) => kind === "arm").map(({ name }) => `  - {name: ${name}, unit: ${value}}\n`);
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

function fileLine({ label, path }: ManifestValues["files"][number]): string {
  if (label === null) return `  - ${yamlText(path)}`;
  return `  # A label is shown instead of the path:\n  - label: ${yamlText(label)}\n    path: ${yamlText(path)}`;
}
