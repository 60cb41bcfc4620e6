import { dirname, join } from "node:path";

import { components, errorCode, type Files, LINK_LIMIT } from "../platform/files/files.ts";
import { type Mounts, readMounts } from "../platform/files/mounts.ts";

/** The folders whose events show that a path may lead to other content. */
export type WatchPlan = ReadonlyMap<string, PlannedFolder>;

export interface PlannedFolder {
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

const STICKY = 0o1000;

/**
 * Walks every path as the kernel would and collects the directory of each entry: of the links in a chain (`..data` swaps), of the
 * folders above (a folder can be replaced), and of the file itself. For a missing entry that is the nearest existing folder.
 *
 * Leaves out `/` and sticky folders such as /tmp as parents of folders: they have many unrelated events, and a folder in them reports its
 * own move or removal.
 */
export async function planWatches(files: Files, paths: readonly string[]): Promise<WatchPlan> {
  const walk: Walk = { files, mounts: readMounts(files.mountsNow()), stats: new Map(), folders: new Map() };
  for (const path of paths) await walkPath(walk, path);
  const plan = new Map<string, PlannedFolder>();
  for (const [folder, noted] of walk.folders) {
    const planned = await planFolder(files, folder, noted);
    if (planned !== null) plan.set(folder, planned);
  }
  return plan;
}

interface Walk {
  readonly files: Files;
  readonly mounts: Mounts;
  /** Caches entries, because many paths share their folders. */
  readonly stats: Map<string, Entry>;
  readonly folders: Map<string, Noted>;
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

async function inspect({ files }: Walk, path: string): Promise<Entry> {
  try {
    const stat = await files.linkStat(path);
    if (stat.kind === "link") return { kind: "link", target: await files.readLink(path) };
    return { kind: stat.kind === "directory" ? "directory" : "leaf" };
  } catch {
    // Missing or not accessible: its directory is watched either way.
    return { kind: "missing" };
  }
}

function note(walk: Walk, directory: string, name: string, isTarget: boolean): void {
  const noted: Noted = walk.folders.get(directory) ?? {
    names: new Set(),
    holdsTarget: false,
    reportsChanges: true,
  };
  noted.names.add(name);
  noted.holdsTarget ||= isTarget;
  const entry = join(directory, name);
  const { mounts } = walk;
  // A file that is mounted by itself, as into a container, changes without an event of the directory.
  noted.reportsChanges &&= isTarget ? mounts.isLocal(entry) && !mounts.isMountPoint(entry) : mounts.isLocal(directory);
  walk.folders.set(directory, noted);
}

async function planFolder(
  files: Files,
  folder: string,
  { names, holdsTarget, reportsChanges }: Noted,
): Promise<PlannedFolder | null> {
  if (!holdsTarget && folder === dirname(folder)) return null;
  try {
    const { mode } = await files.stat(folder);
    if (!holdsTarget && (mode & STICKY) !== 0) return null;
    return { id: await files.directoryId(folder), names, holdsTarget, reportsChanges };
  } catch (error) {
    // Removed since the walk: the folder above is watched too and reports its return.
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}
