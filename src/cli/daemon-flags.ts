import type { FolderOptions } from "../agent/configuration/folders.ts";

/**
 * Parses `run` as the unit starts it: only flags for folders, each at most once.
 *
 * This avoids loading commander, which with the description of all commands adds 3 ms to the start (a tenth) and 0.7 MB to the daemon, and
 * Node's own parser (1 ms).
 *
 * @returns null for every other command line, also an invalid one, which commander then reports.
 */
export function daemonFlags([command, ...args]: readonly string[]): FolderOptions | null {
  if (command !== "run") return null;
  const words = args.flatMap((arg) => (arg.startsWith("--") ? arg.split(/=(.*)/s, 2) : [arg]));
  const values = new Map<string, string>();
  for (let index = 0; index < words.length; index += 2) {
    const [flag = "", value = ""] = words.slice(index, index + 2);
    if (!FOLDER_FLAGS.has(flag) || values.has(flag) || value === "" || value.startsWith("-")) return null;
    values.set(flag, value);
  }
  return {
    config: values.get("--config"),
    stateDir: values.get("--state-dir"),
    runtimeDir: values.get("--runtime-dir"),
  };
}

const FOLDER_FLAGS: ReadonlySet<string> = new Set(["--config", "--state-dir", "--runtime-dir"]);
