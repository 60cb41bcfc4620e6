import { dirname } from "node:path";

import type { Access, Disk, Pieces } from "./disk.ts";
import { isDiskError } from "./disk.ts";

const TEMPORARY_SUFFIX = ".robot-policy-agent-new";

/** Where a file or a link is made before it gets its name; what a power cut leaves there is replaced by the next one. */
export function temporaryPath(path: string): string {
  return path + TEMPORARY_SUFFIX;
}

export function isTemporary(path: string): boolean {
  return path.endsWith(TEMPORARY_SUFFIX);
}

/** After a power cut either the old content is there or the new one, whole. */
export async function replaceFile(disk: Disk, path: string, content: Pieces, access: Access): Promise<void> {
  await removeIfPresent(disk, temporaryPath(path));
  await disk.create(temporaryPath(path), content, access);
  await disk.rename(temporaryPath(path), path);
  await disk.syncDirectory(dirname(path));
}

/** At once: whoever follows the link meanwhile comes to one place or the other. */
export async function replaceLink(disk: Disk, path: string, target: string): Promise<void> {
  await removeIfPresent(disk, temporaryPath(path));
  await disk.makeSymbolicLink(temporaryPath(path), target);
  await disk.rename(temporaryPath(path), path);
  await disk.syncDirectory(dirname(path));
}

export async function removeIfPresent(disk: Disk, path: string): Promise<void> {
  try {
    await disk.remove(path);
  } catch (error) {
    if (!isDiskError(error, "ENOENT", "ENOTDIR")) throw error;
  }
}

/** One in which something lies is somebody's. @returns whether it is gone. */
export async function removeEmptyDirectory(disk: Disk, path: string): Promise<boolean> {
  try {
    await disk.removeDirectory(path);
    return true;
  } catch (error) {
    if (!isDiskError(error, "ENOENT", "ENOTEMPTY", "EEXIST", "ENOTDIR", "EBUSY")) throw error;
    return error.code === "ENOENT";
  }
}
