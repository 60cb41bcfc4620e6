import type { FolderOptions } from "../agent/configuration/folders.ts";

/**
 * The flags of `run` as a unit writes it: nothing but folders, each given once at most.
 *
 * Such a command line needs no commander, whose loading and description of all commands is a tenth of the daemon's way to READY=1 (3 ms)
 * and 0.7 MB for the rest of its life, and not Node's own parser either (1 ms).
 *
 * @returns null for every other command line, mistakes too: commander has the words for them.
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
