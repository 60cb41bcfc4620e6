import { yamlText } from "./yaml-text.ts";

/** What `init` knows of a robot; null where nobody has said it yet. */
export interface ManifestAnswers {
  readonly robot_type_id: string | null;
  readonly display_name: string | null;
  /** In digest order. */
  readonly files: readonly { readonly label: string | null; readonly path: string }[];
}

/** Stands where a person has to write something; `check` finds it. */
const TYPE_PLACEHOLDER = "<id from: robot-policy-agent catalog>";

/**
 * The robot manifest as a commented text. config/robot-manifest.example.yaml is what this gives for an example robot.
 *
 * @param hint the second line: where the file belongs and what to do with it.
 */
export function manifestText({ robot_type_id, display_name, files }: ManifestAnswers, hint: string): string {
  return `# Robot manifest: what type of robot this is, and which files decide how it behaves.
# ${hint}

# The type's id in the service's catalog. All of them: robot-policy-agent catalog
robot_type_id: ${yamlText(robot_type_id ?? TYPE_PLACEHOLDER)}

# For people only.
${display_name === null ? "# display_name: Packing cell, two YAM arms" : `display_name: ${yamlText(display_name)}`}

# "draft" while you are still writing: checked, but never registered. Then "ready".
status: ready

# Files that decide how a command becomes motion: calibration, limits, which arm is left. No logs, data or keys.
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
