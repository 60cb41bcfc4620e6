import { dirname, resolve } from "node:path";

import { exists, type FileStat, type Files } from "../platform/files/files.ts";
import { hidingSetting } from "../platform/systemd/unit-mounts.ts";

export interface FileFinding {
  readonly id:
    | "file_missing"
    | "file_unreadable"
    | "file_not_regular"
    | "file_too_large"
    | "file_unstable"
    | "file_unparseable"
    | "device_missing"
    | "device_unusable";
  readonly severity: "error" | "warning";
  readonly path: string;
  /** Index in the manifest's list. */
  readonly entry: number;
  /** What is wrong and what to do. */
  readonly message: string;
}

/** A finding about a path, without the place of the path in the manifest's list. */
export type PathFinding = Omit<FileFinding, "entry">;

/** The finding for an error code of stat, open or read. */
export async function systemErrorFinding(files: Files, path: string, code: string): Promise<PathFinding> {
  const setting = hidingSetting(files.mountsNow(), path);
  if (setting !== null) return hidden(path, setting);
  switch (code) {
    case "ENOENT":
      return missing(files, path);
    case "ENOTDIR":
      return cannotFind(path, "a part of its path is not a directory; correct the path in the manifest");
    case "EACCES":
    case "EPERM":
      return cannotRead(
        path,
        "permission denied; on a robot, sudo robot-policy-agent grant --dry-run shows the missing permission",
      );
    case "ELOOP":
      return cannotRead(path, "its symbolic links form a loop; point the link to a file");
    case "EMFILE":
    case "ENFILE":
      return cannotRead(path, `too many files are open (${code}); raise LimitNOFILE or close other programs`);
    default:
      return cannotRead(path, `${code}; check the disk or the network drive that holds it`);
  }
}

/** The finding for a device or interface of which there is no line. @param code as `devices.ts` gives it. */
export async function deviceFinding(files: Files, path: string, code: string): Promise<PathFinding> {
  const setting = hidingSetting(files.mountsNow(), path);
  if (setting !== null) return hidden(path, setting);
  const list = "robot-policy-agent devices lists what is there";
  const missingDevice = (what: string): PathFinding => {
    const message = `Cannot find ${path}: ${what}; plug it in, or correct the manifest (${list})`;
    return { id: "device_missing", severity: "error", path, message };
  };
  const unusable = (what: string): PathFinding => {
    return { id: "device_unusable", severity: "error", path, message: `Cannot use ${path}: ${what}; ${list}` };
  };
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENODEV":
      return missingDevice("there is no such device now");
    case "NO_HARDWARE":
      return missingDevice("no hardware is behind it: it is unplugged, or a program made it");
    case "NOT_A_DEVICE":
      return unusable("it is a file or a folder, and no device");
    case "ETIMEDOUT":
      return unusable("the system does not answer what it is");
    default:
      return unusable(`the system does not say what it is (${code})`);
  }
}

/** The finding for a pattern without files. */
export function noMatch(path: string): PathFinding {
  return cannotFind(path, "no file has such a name; correct the pattern in the manifest");
}

/** The finding for a pattern that stands for too many files. */
export function tooMany(path: string, limit: number): PathFinding {
  return cannotHash("file_too_large", path, `patterns may stand for ${limit} files in all; write narrower ones`);
}

/** @param setting of the agent's unit, such as `PrivateTmp=yes`. */
export function hiddenByUnit(path: string, setting: string) {
  return {
    what: `Cannot read ${path}: the unit hides it from the agent (${setting})`,
    remedy: "move the file, or change the setting: systemctl edit robot-policy-agent",
  };
}

function hidden(path: string, setting: string): PathFinding {
  const { what, remedy } = hiddenByUnit(path, setting);
  return { id: "file_unreadable", severity: "error", path, message: `${what}; ${remedy}` };
}

/** The finding for a path that exists but is no regular file within the size limit; undefined when it can be hashed. */
export function unsuitable(path: string, stat: FileStat, limitBytes: number): PathFinding | undefined {
  const { kind, sizeBytes } = stat;
  switch (kind) {
    case "directory":
      return cannotHash(
        "file_not_regular",
        path,
        "it is a folder; list the files in it that matter, or all of them with /* at the end",
      );
    case "link":
    case "other":
      return cannotHash("file_not_regular", path, "it is a FIFO, socket or device; list a regular file");
    case "file":
      if (sizeBytes <= limitBytes) return undefined;
      return cannotHash(
        "file_too_large",
        path,
        `${sizeBytes} bytes, the limit is ${limitBytes}; list only files that configure the robot, or raise the limit in the agent's configuration`,
      );
  }
}

/** For a file that is written all the time, such as a log. */
export function restless(path: string): PathFinding {
  const why =
    "it kept changing, so nothing can be registered; stop the program that writes it, or list only files that a calibration changes";
  return cannotHash("file_unstable", path, why);
}

export function unparseable(path: string, isEmpty: boolean): PathFinding {
  const what = isEmpty ? "is empty" : "does not parse in the format of its file name";
  const message = `${path} ${what} and was hashed anyway; check that the program that writes it finished`;
  return { id: "file_unparseable", severity: "warning", path, message };
}

/** Looks for the link to blame: the file itself, or a folder above, as a link into a folder that was moved or is not mounted. */
async function missing(files: Files, path: string): Promise<PathFinding> {
  for (let part = path; part !== "/" && !(await exists(files, part)); part = dirname(part)) {
    const target = await linkTarget(files, part);
    if (target === undefined) continue;
    const setting = hidingSetting(files.mountsNow(), resolve(dirname(part), target));
    if (setting !== null) return hidden(path, setting);
    return cannotFind(path, `${part === path ? "it" : part} is ${danglingLink(target)}`);
  }
  return cannotFind(path, "create it, or correct the path in the manifest");
}

export function danglingLink(target: string): string {
  return `a symbolic link to ${target}, which does not exist; create that, or correct the link`;
}

/** @returns undefined when it is no link. */
export async function linkTarget(files: Files, path: string): Promise<string | undefined> {
  try {
    return await files.readLink(path);
  } catch {
    // Not a link, or removed as well.
    return undefined;
  }
}

function cannotFind(path: string, why: string): PathFinding {
  return { id: "file_missing", severity: "error", path, message: `Cannot find ${path}: ${why}` };
}

function cannotRead(path: string, why: string): PathFinding {
  return { id: "file_unreadable", severity: "error", path, message: `Cannot read ${path}: ${why}` };
}

function cannotHash(id: PathFinding["id"], path: string, why: string): PathFinding {
  return { id, severity: "error", path, message: `Cannot hash ${path}: ${why}` };
}
