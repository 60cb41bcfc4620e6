import { dirname } from "node:path";

import { digestOf } from "./content.ts";
import type { Disk } from "./disk.ts";
import { DiskError } from "./disk.ts";
import { removeEmptyDirectory, removeIfPresent } from "./durable.ts";
import { CACHE_FOLDER, PROGRAM_FOLDER } from "./layout.ts";
import type { InstallRecord } from "./record.ts";
import { writeRecord } from "./record.ts";

/** Takes away what earlier versions wrote. Cut short, the next installation goes on: the record forgets it when it is gone. */
export async function removeOutdated(record: InstallRecord, outdated: readonly string[], disk: Disk): Promise<void> {
  if (outdated.length === 0) return;
  const paths = new Set(outdated);
  const folders = new Set<string>();
  for (const { path, sha256 } of record.files) {
    if (!paths.has(path)) continue;
    await removeOwnFile(disk, path, sha256);
    folders.add(dirname(path));
  }
  const gone = new Set<string>();
  for (const folder of deepestFirst(record.directories)) {
    const is_concerned = [...folders].some((each) => each === folder || each.startsWith(`${folder}/`));
    if (is_concerned && (await removeEmptyDirectory(disk, folder))) gone.add(folder);
  }
  const next: InstallRecord = {
    ...record,
    files: record.files.filter(({ path }) => !paths.has(path)),
    directories: record.directories.filter((folder) => !gone.has(folder)),
  };
  await writeRecord(disk, next);
}

/** Of the version before: the agent keeps it by the place of the program, and would never find it again. What cannot go costs room. */
export async function dropCompiledCode(disk: Disk): Promise<void> {
  try {
    for (const name of await disk.list(CACHE_FOLDER)) await disk.removeTree(`${CACHE_FOLDER}/${name}`);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
}

/** @returns false where a person made it theirs, and it stays. The program's own folder is nobody else's. */
export async function removeOwnFile(disk: Disk, path: string, sha256: string): Promise<boolean> {
  const sight = await disk.look(path);
  if (sight.kind === "absent") return true;
  if (!path.startsWith(`${PROGRAM_FOLDER}/`)) {
    if (sight.kind !== "file" || (await digestOf(disk, path)) !== sha256) return false;
  }
  await removeIfPresent(disk, path);
  return true;
}

export function deepestFirst(folders: readonly string[]): readonly string[] {
  return folders.toSorted((a, b) => b.length - a.length);
}
