import type { CatalogGroup, CatalogRow } from "../../manifest/catalog/catalog.ts";
import { type JointUnit, lerobotUnit, TYPE_HINTS } from "../../manifest/catalog/hints.ts";
import { yamlText } from "./yaml-text.ts";

/** The values for a manifest; null for unknown ones. */
export interface ManifestAnswers {
  readonly robotTypeId: string | null;
  readonly displayName: string | null;
  /** In digest order. */
  readonly files: readonly { readonly label: string | null; readonly path: string }[];
}

/** A placeholder for a person to replace; `check` reports it. */
const TYPE_PLACEHOLDER = "<id from: robot-policy-agent catalog>";

/**
 * The robot manifest with comments. config/robot-manifest.example.yaml is its output for an example robot.
 *
 * @param hint the second line: the path of the file and what to do with it.
 */
export function manifestText({ robotTypeId, displayName, files }: ManifestAnswers, hint: string): string {
  const units = robotTypeId === null ? null : lerobotUnit(robotTypeId);
  return `# Robot manifest: what type of robot this is, and which files decide how it behaves.
# ${hint}

# The type's id in the service's catalog. All of them: robot-policy-agent catalog
robot_type_id: ${yamlText(robotTypeId ?? TYPE_PLACEHOLDER)}${units === null ? "" : `\n# Its joints are in ${units.deg}.`}

# For people only.
${displayName === null ? "# display_name: Packing cell, two YAM arms" : `display_name: ${yamlText(displayName)}`}

${statusText(files)}

${filesText(files, robotTypeId)}`;
}

/** Without files the manifest is a draft, because only a person can confirm that there are none. */
function statusText(files: ManifestAnswers["files"]): string {
  const meaning = '# "draft" while you are still writing: checked, but never registered. Then "ready".';
  if (files.length > 0) return `${meaning}\nstatus: ready`;
  return `${meaning}\n# A draft, because no configuration files are listed below. List them, then write: ready\nstatus: draft`;
}

/** The values for a manifest that extends a catalog type. */
export interface ExtendedAnswers extends Pick<ManifestAnswers, "files"> {
  readonly base: CatalogRow;
  /** What the joints of a LeRobot robot are in. */
  readonly unit: JointUnit | null;
}

/** A manifest that extends a catalog type, with placeholders for what depends on the robot. */
export function extendedManifestText({ base, unit, files }: ExtendedAnswers, hint: string): string {
  const { robot_type_id: robotTypeId, display_name: displayName, groups, cameras } = base;
  const short = robotTypeId.split(".").slice(1, -1).join("-");
  const units = lerobotUnit(robotTypeId);
  return `# Robot manifest: what type of robot this is, and which files decide how it behaves.
# ${hint}

# An id of your own: vendor, name, version. When the robot changes permanently, increase the version.
robot_type_id: ${yamlText(`<yourname.${short}.v1>`)}

# Where it starts: ${displayName}.
# Joints, units, limits: robot-policy-agent catalog ${robotTypeId}. What you write below replaces what the type says.
extends: ${robotTypeId}

# For people.
# display_name: Bench 2

${statusText(files)}
${units === null ? "" : `\n${unitText(groups, unit, units)}`}
${cameras === "user" ? CAMERAS_TEXT : CAMERAS_HINT}
${filesText(files, robotTypeId)}`;
}

/** Without an answer, a placeholder: the wrong unit would go unnoticed. */
function unitText(groups: readonly CatalogGroup[], unit: JointUnit | null, units: Record<JointUnit, string>): string {
  const value = yamlText(unit ?? "<deg or calibrated_range>");
  const arms = groups.filter(({ kind }) => kind === "arm").map(({ name }) => `  - {name: ${name}, unit: ${value}}`);
  return `# What the joints are in.
# deg: ${units.deg}.
# calibrated_range: ${units.calibrated_range}.
groups:
${arms.join("\n")}
`;
}

const CAMERAS_TEXT = `# What the policy sees: one entry for each camera, with the size of the image as it is sent.
cameras:
  - role: ${yamlText("<front, wrist, top, … as the policy calls it>")}
    mount: ${yamlText("<exterior, wrist, head or base>")}
    width: ${yamlText("<pixels>")}
    height: ${yamlText("<pixels>")}
    fps: ${yamlText("<frames a second that really arrive>")}
`;

const CAMERAS_HINT = `# The cameras are those of the type. Others replace all of them:
# cameras:
#   - {role: top, mount: exterior, width: 640, height: 480, fps: 30}
`;

function filesText(files: ManifestAnswers["files"], robotTypeId: string | null): string {
  return `# Files that decide how a command becomes motion: calibration, limits, which arm is left. No logs, data or keys.
# Their order counts: keep it. Any change of their content registers the robot again.
${fileLines(files, robotTypeId)}
`;
}

function fileLines(files: ManifestAnswers["files"], robotTypeId: string | null): string {
  if (files.length === 0) {
    const usual = TYPE_HINTS.get(robotTypeId ?? "")?.files ?? ["/path/of/a/calibration.yaml"];
    return ["configuration_files: []", "# configuration_files:", ...usual.map((path) => `#   - ${path}`)].join("\n");
  }
  return `configuration_files:\n${files.map(fileLine).join("\n")}`;
}

function fileLine({ label, path }: ManifestAnswers["files"][number]): string {
  if (label === null) return `  - ${yamlText(path)}`;
  return `  # A label is shown instead of the path:\n  - label: ${yamlText(label)}\n    path: ${yamlText(path)}`;
}
