import { dirname } from "node:path";

import { type Access, type Disk, isDiskError, type Pieces } from "./disk.ts";

const TEMPORARY_SUFFIX = ".robot-policy-agent-new";

/** Files and links are created here and then renamed. The next run replaces what a power cut left. */
export function temporaryPath(path: string): string {
  return path + TEMPORARY_SUFFIX;
}

export function isTemporary(path: string): boolean {
  return path.endsWith(TEMPORARY_SUFFIX);
}

/**
 * After a power cut the file has either the old content or the new.
 *
 * @param check of the temporary file, before it takes the place of the old one.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  content: Pieces,
  access: Access,
  check: (temporary: string) => Promise<void> = async () => {},
): Promise<void> {
  await removeIfPresent(disk, temporaryPath(path));
  await disk.create(temporaryPath(path), content, access);
  await check(temporaryPath(path));
  await disk.rename(temporaryPath(path), path);
  await disk.syncDirectory(dirname(path));
}

/** Atomic: the link always leads to either the old target or the new. */
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

/** Leaves a folder that is not empty. */
export async function removeEmptyDirectory(disk: Disk, path: string): Promise<void> {
  try {
    await disk.removeDirectory(path);
  } catch (error) {
    if (!isDiskError(error, "ENOENT", "ENOTEMPTY", "EEXIST", "ENOTDIR", "EBUSY")) throw error;
  }
}
