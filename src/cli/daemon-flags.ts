import { parseArgs } from "node:util";

import type { FolderOptions } from "../agent/folders.ts";

/**
 * The flags of `run` as a unit writes it: nothing but folders, each given once at most.
 *
 * Such a command line needs no commander, whose loading and description of all commands is a tenth of the daemon's way to READY=1 (3 ms)
 * and 0.7 MB for the rest of its life.
 *
 * @returns null for every other command line, mistakes too: commander has the words for them.
 */
export function daemonFlags([command, ...args]: readonly string[]): FolderOptions | null {
  if (command !== "run") return null;
  try {
    const { values, tokens } = parseArgs({
      args,
      options: { config: { type: "string" }, "state-dir": { type: "string" }, "runtime-dir": { type: "string" } },
      tokens: true,
    });
    if (tokens.length !== Object.keys(values).length) return null;
    return { config: values.config, stateDir: values["state-dir"], runtimeDir: values["runtime-dir"] };
  } catch {
    return null;
  }
}
