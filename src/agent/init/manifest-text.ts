import type { CatalogGroup, CatalogRow } from "../../manifest/catalog/catalog.ts";
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
  return `# Robot manifest: what type of robot this is, and which files decide how it behaves.
# ${hint}

# The type's id in the service's catalog. All of them: robot-policy-agent catalog
robot_type_id: ${yamlText(robotTypeId ?? TYPE_PLACEHOLDER)}

# For people only.
${displayName === null ? "# display_name: Packing cell, two YAM arms" : `display_name: ${yamlText(displayName)}`}

${statusText(files)}

${filesText(files)}`;
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
}

/** A manifest that extends a catalog type, with placeholders for what depends on the robot. */
export function extendedManifestText({ base, files }: ExtendedAnswers, hint: string): string {
  const { robot_type_id: robotTypeId, display_name: displayName, groups, cameras } = base;
  const short = robotTypeId.split(".").slice(1, -1).join("-");
  const unlimited = groups.filter(({ kind, limits }) => kind === "arm" && limits === undefined).filter(needsLimits);
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
${unlimited.length === 0 ? "" : `\n${limitsText(unlimited)}`}
${cameras === "user" ? CAMERAS_TEXT : CAMERAS_HINT}
${filesText(files)}`;
}

/** Position control in absolute units requires limits. */
function needsLimits({ unit }: CatalogGroup): boolean {
  return unit !== "calibrated_range";
}

function limitsText(groups: readonly CatalogGroup[]): string {
  const lines = groups.map(
    ({ name, elements, unit }) => `  - name: ${name}
    # ${(elements ?? []).join(", ")}: [low, high] of each, in ${unit}
    limits: {position: ${yamlText(`<[[low, high], …] for ${elements?.length ?? 0} joints>`)}}`,
  );
  return `# The catalog knows no limits of these joints; take them from the driver or the data sheet.
groups:
${lines.join("\n")}
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

function filesText(files: ManifestAnswers["files"]): string {
  return `# Files that decide how a command becomes motion: calibration, limits, which arm is left. No logs, data or keys.
# Their order counts: keep it. Any change of their content registers the robot again.
${fileLines(files)}
`;
}

function fileLines(files: ManifestAnswers["files"]): string {
  if (files.length === 0) {
    return `configuration_files: []
# configuration_files:
#   - /opt/yam/configs/yam_left.yaml
#   - /opt/yam/configs/yam_right.yaml`;
  }
  return `configuration_files:\n${files.map(fileLine).join("\n")}`;
}

function fileLine({ label, path }: ManifestAnswers["files"][number]): string {
  if (label === null) return `  - ${yamlText(path)}`;
  return `  # A label is shown instead of the path:\n  - label: ${yamlText(label)}\n    path: ${yamlText(path)}`;
}
