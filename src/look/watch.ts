/**
 * Says when to look: a change of a folder on the way to a file rings. Events are only hints; what they miss, the next look finds, which
 * comes after 5 s where a folder cannot be watched, and after a minute elsewhere.
 */
import type { DirectoryWatch, FileEvents } from "../platform/files/file-events.ts";
import type { Files } from "../platform/files/files.ts";
import { ANY_NAME, type PlannedFolder, planWatches, type WatchPlan } from "./folders.ts";

/** How the agent notices changes. */
export interface WatchMode {
  /** `polling` as soon as one folder has no working watch. */
  readonly mode: "events" | "polling";
  /** Why it polls; null with events. */
  readonly reason: string | null;
}

export interface WatchOptions {
  readonly files: Files;
  readonly events: FileEvents;
  /** Something may have changed. */
  onChange(): void;
  /** A folder itself was unmounted, removed or moved. Its replacement may be another disk with equal timestamps. */
  onGone(): void;
}

interface Watched {
  planned: PlannedFolder;
  readonly watch: DirectoryWatch;
}

/** One watch for each folder on the way to the files. */
export function createWatch({ files, events, onChange, onGone }: WatchOptions) {
  const watched = new Map<string, Watched>();
  /** Folder → why it has no working watch. An entry stays during a retry. */
  const failures = new Map<string, string>();
  let plan: WatchPlan = new Map();

  function start(folder: string, planned: PlannedFolder): void {
    const watch = events.watch(folder, {
      onEvent(name) {
        const names = watched.get(folder)?.planned.names;
        if (name !== null && names?.has(name) !== true && names?.has(ANY_NAME) !== true) return;
        // The folder itself is gone. Its replacement needs a new watch, even with the same inode.
        if (name === null) {
          stop(folder);
          // udev removes folders whose last link goes. What is behind a link is asked anew with each look.
          if (!folder.startsWith("/dev/")) onGone();
        }
        onChange();
      },
      onReady() {
        failures.delete(folder);
        // Changes before the watch was ready had no event.
        onChange();
      },
      onFailure(code) {
        stop(folder);
        if (isDispensable(planned, code)) failures.delete(folder);
        else failures.set(folder, describeFailure(folder, code));
      },
    });
    watched.set(folder, { planned, watch });
  }

  function stop(folder: string): void {
    watched.get(folder)?.watch.close();
    watched.delete(folder);
  }

  return {
    /** Watches the folders on the way to these files as the links lead now, and tries again what failed. Working watches are kept. */
    async follow(paths: readonly string[]) {
      plan = await planWatches(files, paths);
      for (const [folder, { planned }] of watched) {
        const next = plan.get(folder);
        // A folder may stop reporting changes while it is watched: when a file in it is mounted by itself.
        if (next?.id !== planned.id || !next.reportsChanges) stop(folder);
      }
      for (const folder of failures.keys()) if (!plan.has(folder)) failures.delete(folder);
      for (const [folder, planned] of plan) {
        const current = watched.get(folder);
        if (planned.isOfDevices) continue;
        if (current !== undefined) current.planned = planned;
        else if (planned.reportsChanges) start(folder, planned);
        else failures.set(folder, describeSilence(folder));
      }
    },
    get mode(): WatchMode {
      const [reason] = failures.values();
      return reason === undefined ? { mode: "events", reason: null } : { mode: "polling", reason };
    },
    /** Whether folders are only looked at, whose devices should be noticed soon. */
    get hasDevices() {
      return [...plan.values()].some(({ isOfDevices }) => isOfDevices);
    },
    /** How many folders are on the way, without those of devices. */
    get folderCount() {
      return [...plan.values()].filter(({ isOfDevices }) => !isOfDevices).length;
    },
    close() {
      for (const folder of watched.keys()) stop(folder);
    },
  };
}

/**
 * True for a folder above the files that this user may enter but not list, such as a home folder opened by `robot-policy-agent grant`: it
 * only shows that a whole folder was replaced, which the next look also finds.
 */
function isDispensable({ holdsTarget }: PlannedFolder, code: string): boolean {
  return !holdsTarget && (code === "EACCES" || code === "EPERM");
}

function describeSilence(folder: string): string {
  return `${folder} reports no changes: it is on a network or FUSE drive, or a file in it is mounted by itself`;
}

function describeFailure(folder: string, code: string): string {
  switch (code) {
    case "ENOSPC":
      return `${folder} cannot be watched: all inotify watches are in use (raise fs.inotify.max_user_watches)`;
    case "EMFILE":
      return `${folder} cannot be watched: all inotify instances are in use (raise fs.inotify.max_user_instances)`;
    case "EACCES":
    case "EPERM":
      return `${folder} cannot be watched: no permission to read it`;
    default:
      return `${folder} cannot be watched: ${code}`;
  }
}
