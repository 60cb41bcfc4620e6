import { digestOf } from "../disk/content.ts";
import { type Disk, DiskError, readText } from "../disk/disk.ts";
import {
  CURRENT_LINK,
  MADE_FOLDERS_FILE,
  SHIPPED_FOLDER,
  SWITCHING_FILE,
  versionFolder,
  VERSIONS_FOLDER,
} from "../layout.ts";

/** What earlier runs left on the disk: the installer's only memory. */
export interface Installed {
  /** Id of the version that the link `current` names. */
  readonly current: string | null;
  readonly versions: readonly InstalledVersion[];
  /** Set from the first change of a version until the service restarts, where a run was interrupted or had not to restart it. */
  readonly switching: { readonly previous: string | null } | null;
  /** Folders outside the program's folder that earlier runs created. */
  readonly madeFolders: readonly string[];
}

export interface InstalledVersion {
  readonly id: string;
  /** Hex SHA-256 of each file that it installed elsewhere, by installed path. */
  readonly shipped: ReadonlyMap<string, string>;
}

/** A version ships about a dozen files, a few folders deep. The limits are for a damaged image. */
const FILE_LIMIT = 200;
const DEPTH_LIMIT = 12;
const NOTE_LIMIT_BYTES = 64 * 1024;
/** The name of a version's folder. */
const ID = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,100}$/;

export async function readInstalled(disk: Disk): Promise<Installed> {
  const link = await disk.look(CURRENT_LINK);
  const target = link.kind === "link" ? link.target.replace(/^versions\//, "") : "";
  const versions: InstalledVersion[] = [];
  for (const id of await namesIn(disk, VERSIONS_FOLDER)) {
    if (ID.test(id)) versions.push({ id, shipped: await readShipped(disk, id) });
  }
  const note = await readNote(disk, SWITCHING_FILE);
  const [previous = ""] = note ?? [];
  return {
    current: ID.test(target) ? target : null,
    versions,
    switching: note === null ? null : { previous: ID.test(previous) ? previous : null },
    madeFolders: ((await readNote(disk, MADE_FOLDERS_FILE)) ?? []).filter(isPlainPath),
  };
}

/** All digests that installed versions shipped for a path. A file with one of them was not edited. */
export function shippedDigests({ versions }: Pick<Installed, "versions">): ReadonlyMap<string, ReadonlySet<string>> {
  const digests = new Map<string, Set<string>>();
  for (const { shipped } of versions) {
    for (const [path, sha256] of shipped) digests.set(path, (digests.get(path) ?? new Set()).add(sha256));
  }
  return digests;
}

async function readShipped(disk: Disk, id: string): Promise<ReadonlyMap<string, string>> {
  const top = `${versionFolder(id)}/${SHIPPED_FOLDER}`;
  const shipped = new Map<string, string>();
  const folders = [{ path: "", depth: 0 }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of await namesIn(disk, top + folder.path)) {
      const path = `${folder.path}/${name}`;
      const sight = await disk.look(top + path);
      if (sight.kind === "directory" && folder.depth < DEPTH_LIMIT) folders.push({ path, depth: folder.depth + 1 });
      if (sight.kind === "file" && shipped.size < FILE_LIMIT) shipped.set(path, await digestOf(disk, top + path));
    }
  }
  return shipped;
}

async function namesIn(disk: Disk, folder: string): Promise<readonly string[]> {
  try {
    return (await disk.list(folder)).toSorted();
  } catch (error) {
    if (error instanceof DiskError && ["ENOENT", "ENOTDIR"].includes(error.code)) return [];
    throw error;
  }
}

async function readNote(disk: Disk, path: string): Promise<readonly string[] | null> {
  const text = await readText(disk, path, NOTE_LIMIT_BYTES);
  return text === null || text === "too-large" ? null : text.split("\n").filter((line) => line !== "");
}

function isPlainPath(path: string): boolean {
  return path.startsWith("/") && !path.split("/").includes("..");
}
