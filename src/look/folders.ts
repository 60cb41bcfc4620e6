import { basename, dirname, join } from "node:path";

import { components, errorCode, type Files, LINK_LIMIT } from "../platform/files/files.ts";
import { type Mount, mountOf, readMounts } from "../platform/files/mounts.ts";
import { isPattern } from "./patterns.ts";

/** The folders whose events show that a path may lead to other content. */
export type WatchPlan = ReadonlyMap<string, PlannedFolder>;

export interface PlannedFolder {
  /** Distinguishes the directory from another one put in its place. */
  readonly id: string;
  /** Entries whose events matter, or `ANY_NAME`; others are ignored. */
  readonly names: ReadonlySet<string>;
  /** It has devices, and is looked at every few seconds without a watch. */
  readonly isOfDevices: boolean;
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

/** In `names`, for a pattern. */
export const ANY_NAME = "*";

const STICKY = 0o1000;

/**
 * Walks every path as the kernel would and collects the directory of each entry: of the links in a chain (`..data` swaps), of the
 * folders above (a folder can be replaced), and of the file itself. For a missing entry that is the nearest existing folder.
 *
 * Leaves out `/` and sticky folders such as /tmp as parents of folders: they have many unrelated events, and a folder in them reports its
 * own move or removal.
 */
export async function planWatches(files: Files, paths: readonly string[]): Promise<WatchPlan> {
  const walk: Walk = { files, entries: new Map() };
  // In parallel, because every run waits for this before it looks.
  const steps = await Promise.all(paths.map((path) => walkPath(walk, path)));
  const folders = noteFolders(readMounts(files.mountsNow()), steps.flat());
  const plan = await Promise.all(
    [...folders].map(async ([folder, noted]) => ({ folder, planned: await planFolder(files, folder, noted) })),
  );
  return new Map(plan.flatMap(({ folder, planned }) => (planned === null ? [] : [[folder, planned]])));
}

interface Walk {
  readonly files: Files;
  /** Caches entries, because many paths share their folders. */
  readonly entries: Map<string, Promise<Entry>>;
}

/** A directory on the way of a path, and the entry in it that the path goes on with. */
interface Step {
  readonly directory: string;
  readonly name: string;
  /** True for a file, a link, and a missing entry. */
  readonly isTarget: boolean;
}

interface Noted {
  readonly names: Set<string>;
  holdsTarget: boolean;
  reportsChanges: boolean;
}

type Entry = { readonly kind: "link"; readonly target: string } | { readonly kind: "directory" | "leaf" | "missing" };

/**
 * /dev itself is looked at, never watched: on many kernels each write to a serial port is an event there. Where a link of udev in a folder
 * below it leads to a device, that folder is enough, unless a link in /dev leads there. /sys has no events.
 */
async function walkPath(walk: Walk, path: string): Promise<readonly Step[]> {
  if (path.startsWith("/sys/")) return [{ directory: dirname(path), name: basename(path), isTarget: true }];
  const steps = await walkLinks(walk, path);
  const isBelow = steps.some(({ directory, isTarget }) => isTarget && directory.startsWith("/dev/"));
  const isLinked = steps.slice(0, -1).some(({ directory, isTarget }) => isTarget && directory === "/dev");
  return isBelow && !isLinked ? steps.filter(({ directory }) => directory !== "/dev") : steps;
}

async function walkLinks(walk: Walk, path: string): Promise<readonly Step[]> {
  const steps: Step[] = [];
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
    steps.push({ directory, name, isTarget: entry.kind !== "directory" });
    switch (entry.kind) {
      case "directory":
        directory = entryPath;
        break;
      case "link":
        links += 1;
        if (links > LINK_LIMIT) return steps;
        pending = [...components(entry.target), ...rest];
        if (entry.target.startsWith("/")) directory = "/";
        break;
      case "leaf":
      case "missing":
        return steps;
    }
  }
  return steps;
}

function lookUp({ files, entries }: Walk, path: string): Promise<Entry> {
  const entry = entries.get(path) ?? inspect(files, path);
  entries.set(path, entry);
  return entry;
}

async function inspect(files: Files, path: string): Promise<Entry> {
  try {
    const stat = await files.linkStat(path);
    if (stat.kind === "link") return { kind: "link", target: await files.readLink(path) };
    return { kind: stat.kind === "directory" ? "directory" : "leaf" };
  } catch {
    // Missing or not accessible: its directory is watched either way.
    return { kind: "missing" };
  }
}

function noteFolders(mounts: readonly Mount[], steps: readonly Step[]): ReadonlyMap<string, Noted> {
  const folders = new Map<string, Noted>();
  for (const { directory, name, isTarget } of steps) {
    const noted: Noted = folders.get(directory) ?? { names: new Set(), holdsTarget: false, reportsChanges: true };
    noted.names.add(isPattern(name) ? ANY_NAME : name);
    noted.holdsTarget ||= isTarget;
    const entry = join(directory, name);
    const mount = mountOf(mounts, isTarget ? entry : directory);
    // A file that is mounted by itself, as into a container, changes without an event of the directory.
    noted.reportsChanges &&= mount?.isLocal === true && !(isTarget && mount.point === entry);
    folders.set(directory, noted);
  }
  return folders;
}

async function planFolder(
  files: Files,
  folder: string,
  { names, holdsTarget, reportsChanges }: Noted,
): Promise<PlannedFolder | null> {
  if (!holdsTarget && folder === dirname(folder)) return null;
  try {
    const { mode, device, inode } = await files.stat(folder);
    if (!holdsTarget && (mode & STICKY) !== 0) return null;
    const isOfDevices = folder === "/dev" || folder.startsWith("/sys/");
    return { id: `${device}:${inode}`, names, isOfDevices, holdsTarget, reportsChanges };
  } catch (error) {
    // Removed since the walk: the folder above is watched too and reports its return.
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}
