import { dirname, join } from "node:path";

import { components, errorCode, type Files, LINK_LIMIT } from "../../platform/files/files.ts";
import { type Mounts, readMounts } from "../../platform/files/mounts.ts";

/** The directories whose events show that a path may lead to other content. */
export interface WatchPlan {
  readonly directories: ReadonlyMap<string, PlannedDirectory>;
  /** False when a path, or a link in it, is on a filesystem that can hang. */
  readonly isLocal: boolean;
  /** The mount table from which `isLocal` was derived. */
  readonly mountTable: string;
}

export const EMPTY_PLAN: WatchPlan = { directories: new Map(), isLocal: false, mountTable: "" };

export interface PlannedDirectory {
  /** Distinguishes the directory from another one put in its place. */
  readonly id: string;
  /** Entries whose events matter; others are ignored. */
  readonly names: ReadonlySet<string>;
  /**
   * True when it contains a file or a link of a path. The other directories only show that a whole folder was replaced, which the resync
   * also notices, so the agent does without their watch when this user may enter but not list them.
   */
  readonly holdsTarget: boolean;
  /**
   * False when it, or a file in it, is on a network or user-space filesystem: inotify does not report remote changes. Also when a file in
   * it is mounted by itself.
   */
  readonly reportsChanges: boolean;
}

/** Why a directory whose changes are not reported is polled. */
export function describeSilence(directory: string): string {
  return `${directory} reports no changes: it is on a network or FUSE drive, or a file in it is mounted by itself`;
}

const STICKY = 0o1000;

/**
 * Walks every path as the kernel would and collects the directory of each entry: of the links in a chain (`..data` swaps), of the
 * folders above (a folder can be replaced), and of the file itself. For a missing entry that is the nearest existing folder.
 *
 * Leaves out `/` and sticky folders such as /tmp as parents of folders: they have many unrelated events, and a folder in them reports its
 * own move or removal.
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

/** True when no stat on a planned path can hang. */
export function isLocal(files: Files, plan: WatchPlan): boolean {
  return plan.isLocal && files.mountsNow() === plan.mountTable;
}

/** True when every directory is still the one that was planned. One synchronous stat each, so only when `isLocal`. */
export function isPlanCurrent(files: Files, plan: WatchPlan): boolean {
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
  /** Caches entries, because many paths share their folders. */
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
    pending = rest;
    if (name === ".") continue;
    if (name === "..") {
      // `directory` contains no links any more, so its parent is `dirname`.
      directory = dirname(directory);
      continue;
    }
    const entryPath = join(directory, name);
    const entry = await lookUp(walk, entryPath);
    note(walk, directory, name, entry.kind !== "directory");
    switch (entry.kind) {
      case "directory":
        directory = entryPath;
        break;
      case "link":
        links += 1;
        if (links > LINK_LIMIT) return;
        pending = [...components(entry.target), ...rest];
        if (entry.target.startsWith("/")) directory = "/";
        break;
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
    // Synchronous on local disks: about thirty entries are usual, and asynchronous stats of those add 3 ms to a boot.
    const stat = mounts.isLocal(path) ? files.linkStatNow(path) : await files.linkStat(path);
    if (stat.kind === "link") return { kind: "link", target: await files.readLink(path) };
    return { kind: stat.kind === "directory" ? "directory" : "leaf" };
  } catch {
    // Missing or not accessible: its directory is watched either way.
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
  const entry = join(directory, name);
  const isLocalEntry = walk.mounts.isLocal(entry);
  // A file that is mounted by itself, as into a container, changes without an event of the directory.
  noted.reportsChanges &&= isTarget ? isLocalEntry && !walk.mounts.isMountPoint(entry) : walk.mounts.isLocal(directory);
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
    return { id, names, holdsTarget, reportsChanges };
  } catch (error) {
    // Removed since the walk: the folder above is watched too and reports its return.
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}
