import type { FolderOptions } from "./configuration/folders.ts";

/**
 * Parses `run` and `look` as the units start them: only flags for folders, each at most once.
 *
 * This avoids loading commander and the table of commands, which adds 4 ms of a processor to the start, 0.13 of bare Node's (the budget is
 * 2.6 of it), and 0.5 MB to the daemon.
 *
 * @returns null for every other command line, also an invalid one, which commander then reports.
 */
export function daemonFlags([command, ...args]: readonly string[]): FolderOptions | null {
  if (command !== "run" && command !== "look") return null;
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
