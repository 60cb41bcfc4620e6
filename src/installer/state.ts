import { isObject } from "../platform/is-object.ts";
import { parseJson } from "../platform/text/parse-json.ts";
import { type Disk, readText } from "./disk/disk.ts";
import { type InstallerProblem, refusal } from "./installer.ts";
import { STATE_FILES } from "./layout.ts";

const STATE_LIMIT_BYTES = 4 * 1024 * 1024;

/** Refuses a downgrade that cannot read the state: the older agent would not know what is registered, or as which robot. */
export async function findNewerState(disk: Disk, known: number): Promise<InstallerProblem | null> {
  for (const where of STATE_FILES) {
    const text = await readText(disk, where, STATE_LIMIT_BYTES);
    const state = text === null ? null : parseJson(text);
    const schemaVersion = isObject(state) ? state["schema_version"] : null;
    if (typeof schemaVersion === "number" && schemaVersion > known)
      return refusal({
        code: "newer-state",
        what: `the state was written by a newer agent (schema ${schemaVersion}; this agent reads up to ${known}); nothing was changed`,
        where,
        fix: "keep the newer version, or move that file away: the robot is then registered or enrolled anew",
      });
  }
  return null;
}
