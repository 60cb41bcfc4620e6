import { readdirSync } from "node:fs";
import { join } from "node:path";

import { type EntryHandle, openBelow } from "../../platform/files/entry-handle.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { GrantMachine } from "./record.ts";

const SYSTEM_FOLDERS: ReadonlySet<string> = new Set(
  "/ /etc /home /media /mnt /opt /root /run /srv /usr /usr/local /usr/local/etc /var /var/lib".split(" "),
);
/** Relative to a person's home; "" is the home itself. */
const PERSONAL_FOLDERS = ["", ".cache", ".config", ".local/share", ".local/state", "Desktop", "Documents", "Downloads"];
const LOOK_UP_LIMIT_MS = 4000;
const STICKY = 0o1000;
const READ_BY_OTHERS = 0o044;
const ENTRY_LIMIT = 4096;

/**
 * Whether the folder also serves for files that have nothing to do with `file`. A default list would let the agent read all new files there,
 * and replace their umask (acl(5)).
 */
export async function isCommonFolder(folder: EntryHandle, file: EntryHandle, machine: GrantMachine): Promise<boolean> {
  const { path, stat } = folder;
  if (SYSTEM_FOLDERS.has(path) || (stat.mode & STICKY) !== 0 || holdsUnlike(folder, file)) return true;
  const home = await findHome(machine, stat.userId);
  if (home === null) return false;
  const personal = await Promise.all(
    PERSONAL_FOLDERS.map((name) => machine.files.stat(join(home, name)).catch(() => null)),
  );
  return personal.some((each) => each?.device === stat.device && each.inode === stat.inode);
}

/** Whether the folder holds an entry that group or others may read and the file not, or the reverse. */
function holdsUnlike(folder: EntryHandle, { stat }: EntryHandle): boolean {
  const names = readdirSync(`/proc/self/fd/${folder.descriptor}`);
  if (names.length > ENTRY_LIMIT) return true;
  return names.some((name) => {
    try {
      using entry = openBelow(folder, name);
      return entry.stat.kind !== "link" && ((entry.stat.mode ^ stat.mode) & READ_BY_OTHERS) !== 0;
    } catch (error) {
      // Removed meanwhile.
      if (errorCode(error) === undefined) throw error;
      return false;
    }
  });
}

/** From all user databases of the machine (getent(1)). */
async function findHome({ runProgram }: GrantMachine, userId: number): Promise<string | null> {
  const result = await runProgram(["getent", "passwd", String(userId)], { limitMs: LOOK_UP_LIMIT_MS });
  const home = result.kind === "ended" ? (result.stdout.split(":")[5] ?? "") : "";
  return home.startsWith("/") ? home : null;
}
