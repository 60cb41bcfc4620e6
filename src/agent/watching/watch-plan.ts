import { dirname, join } from "node:path";

import type { Files } from "../../platform/files/files.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Mounts } from "../../platform/files/mounts.ts";
import { readMounts } from "../../platform/files/mounts.ts";

/** Which directories show that one of the paths now leads to other bytes. */
export interface WatchPlan {
  readonly directories: ReadonlyMap<string, PlannedDirectory>;
  /** False when a path, or a link on its way, leads over a filesystem that may hang. */
  readonly isLocal: boolean;
  /** The mount table that says so. */
  readonly mountTable: string;
}

export const EMPTY_PLAN: WatchPlan = { directories: new Map(), isLocal: false, mountTable: "" };

export interface PlannedDirectory {
  /** Tells a directory from another one put in its place. */
  readonly id: string;
  /** Entries whose events matter; everything else there is somebody else's business. */
  readonly names: ReadonlySet<string>;
  /**
   * It holds a file or a link of the way. The folders above tell only of whole folders put in each other's place, which the resync
   * notices too: where this user may enter them and not list them, the agent does without.
   */
  readonly holdsTarget: boolean;
  /** False where it, or a file in it, is on a network or user-space filesystem: the kernel sees no changes made elsewhere. */
  readonly reports_changes: boolean;
}

/** As the kernel's own limit on links in one path walk (path_resolution(7)). */
const LINK_LIMIT = 40;
const STICKY = 0o1000;

/**
 * Walks every path as the kernel would and collects, for each entry met on the way, the directory that holds it: the links of a
 * chain (`..data` swaps), the folders above (a folder put in another's place), and the file's own folder. What does not exist yet is
 * awaited in the nearest folder that does.
 *
 * Left out as holders of folders: `/` and sticky folders such as /tmp. They are busy with other people's files, and a folder below them
 * reports its own move or removal.
 */
export async function planWatches(files: Files, paths: readonly string[]): Promise<WatchPlan> {
  const mountTable = files.mountsNow();
  const mounts = readMounts(mountTable);
  const walk: Walk = { files, mounts, stats: new Map(), directories: new Map(), isLocal: true };
  for (const path of paths) await walkPath(walk, path);
  const directories = new Map<string, PlannedDirectory>();
  for (const [directory, noted] of walk.directories) {
    const planned = await planDirectory(walk, directory, noted);
    if (planned !== null) directories.set(directory, planned);
  }
  return { directories, isLocal: walk.isLocal, mountTable };
}

/** True when no stat on the way to a planned path can hang. */
export function isLocal(files: Files, plan: WatchPlan): boolean {
  return plan.isLocal && files.mountsNow() === plan.mountTable;
}

/** One synchronous stat per directory: true when every one is still the directory that was planned. Where `isLocal` only. */
export function planHolds(files: Files, plan: WatchPlan): boolean {
  for (const [directory, planned] of plan.directories) {
    try {
      if (files.directoryIdNow(directory) !== planned.id) return false;
    } catch {
      return false;
    }
  }
  return true;
}

interface Walk {
  readonly files: Files;
  readonly mounts: Mounts;
  /** What an entry is, so that the folders shared by many paths are looked at once. */
  readonly stats: Map<string, Entry>;
  readonly directories: Map<string, Noted>;
  isLocal: boolean;
}

interface Noted {
  readonly names: Set<string>;
  holdsTarget: boolean;
  reportsChanges: boolean;
}

type Entry = { readonly kind: "link"; readonly target: string } | { readonly kind: "directory" | "leaf" | "missing" };

async function walkPath(walk: Walk, path: string): Promise<void> {
  let pending = components(path);
  let directory = "/";
  let links = 0;
  while (pending.length > 0) {
    const [name = "", ...rest] = pending;
    if (name === "..") {
      // `directory` holds no links any more, so that the folder above is the one that its path names.
      directory = dirname(directory);
      pending = rest;
      continue;
    }
    const entryPath = join(directory, name);
    const entry = await lookUp(walk, entryPath);
    note(walk, directory, name, entry.kind !== "directory");
    switch (entry.kind) {
      case "directory":
        directory = entryPath;
        pending = rest;
        break;
      case "link": {
        links += 1;
        if (links > LINK_LIMIT) return;
        pending = [...components(entry.target), ...rest];
        if (entry.target.startsWith("/")) directory = "/";
        break;
      }
      case "leaf":
      case "missing":
        return;
    }
  }
}

async function lookUp(walk: Walk, path: string): Promise<Entry> {
  const known = walk.stats.get(path);
  if (known !== undefined) return known;
  const entry = await inspect(walk, path);
  walk.stats.set(path, entry);
  return entry;
}

async function inspect({ files, mounts }: Walk, path: string): Promise<Entry> {
  try {
    // Thirty entries are usual, and a turn of the event loop for each takes 3 ms of a boot.
    const stat = mounts.isLocal(path) ? files.linkStatNow(path) : await files.linkStat(path);
    if (stat.kind === "link") return { kind: "link", target: await files.readLink(path) };
    return { kind: stat.kind === "directory" ? "directory" : "leaf" };
  } catch {
    // Missing, or not to be seen: either way it is awaited where the walk ended.
    return { kind: "missing" };
  }
}

function note(walk: Walk, directory: string, name: string, isTarget: boolean): void {
  const noted: Noted = walk.directories.get(directory) ?? {
    names: new Set(),
    holdsTarget: false,
    reportsChanges: true,
  };
  noted.names.add(name);
  noted.holdsTarget ||= isTarget;
  const isLocalEntry = walk.mounts.isLocal(join(directory, name));
  // A file may be mounted by itself, and then changes without an event of the directory.
  noted.reportsChanges &&= isLocalEntry || (!isTarget && walk.mounts.isLocal(directory));
  walk.isLocal &&= isLocalEntry;
  walk.directories.set(directory, noted);
}

async function planDirectory(
  { files, mounts }: Walk,
  directory: string,
  { names, holdsTarget, reportsChanges }: Noted,
): Promise<PlannedDirectory | null> {
  if (!holdsTarget && directory === dirname(directory)) return null;
  try {
    const isLocalDirectory = mounts.isLocal(directory);
    const stat = isLocalDirectory ? files.statNow(directory) : await files.stat(directory);
    if (!holdsTarget && (stat.mode & STICKY) !== 0) return null;
    const id = isLocalDirectory ? files.directoryIdNow(directory) : await files.directoryId(directory);
    return { id, names, holdsTarget, reports_changes: reportsChanges };
  } catch (error) {
    // Gone since the walk: the folder above, planned too, tells when it is back.
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}

function components(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
