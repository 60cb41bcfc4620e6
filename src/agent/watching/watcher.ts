import type { DirectoryWatch, FileEvents } from "../../platform/files/file-events.ts";
import { describeSilence, EMPTY_PLAN, type PlannedDirectory, type WatchPlan } from "./watch-plan.ts";

/** How the agent notices changes. */
export interface WatchMode {
  readonly mode: "events" | "polling";
  /** Why it polls; null with events. */
  readonly reason: string | null;
}

export interface WatcherOptions {
  readonly events: FileEvents;
  /** Something may have changed. */
  onChange(): void;
  /** A directory itself was unmounted, removed or moved. Its replacement may be another disk with equal timestamps. */
  onGone(): void;
  /** The mode may have changed. */
  onMode(): void;
}

interface Watched {
  planned: PlannedDirectory;
  readonly watch: DirectoryWatch;
}

/** Keeps one watch per planned directory and turns their events into one signal. */
export function createWatcher(options: WatcherOptions) {
  const watched = new Map<string, Watched>();
  /** Directory → why it cannot be watched. An entry stays during a retry. */
  const failures = new Map<string, string>();
  /** Folders above the files that this user may enter but not list → their id, so that a replacement is tried again. */
  const unlisted = new Map<string, string>();
  let latest = EMPTY_PLAN;

  function start(directory: string, planned: PlannedDirectory): void {
    const watch = options.events.watch(directory, {
      onEvent(name) {
        if (name !== null && watched.get(directory)?.planned.names.has(name) !== true) return;
        // The directory itself is gone. Its replacement needs a new watch, even with the same inode.
        if (name === null) {
          stop(directory);
          options.onGone();
        }
        options.onChange();
      },
      onReady() {
        if (failures.delete(directory)) options.onMode();
        // Changes before the watch was ready had no event.
        options.onChange();
      },
      onFailure(code) {
        stop(directory);
        if (isDispensable(planned, code)) {
          failures.delete(directory);
          unlisted.set(directory, planned.id);
        } else failures.set(directory, describeFailure(directory, code));
        options.onMode();
      },
    });
    watched.set(directory, { planned, watch });
  }

  function stop(directory: string): void {
    watched.get(directory)?.watch.close();
    watched.delete(directory);
  }

  return {
    /** Watches exactly the directories of the plan. Existing watches are kept. */
    follow(plan: WatchPlan) {
      latest = plan;
      for (const [directory, { planned }] of watched) {
        const next = plan.directories.get(directory);
        // A folder may stop reporting changes while it is watched: when a file in it is mounted by itself, or belongs to the plan only now.
        if (next?.id !== planned.id || !next.reportsChanges) stop(directory);
      }
      for (const directory of failures.keys()) {
        if (!plan.directories.has(directory)) failures.delete(directory);
      }
      for (const [directory, planned] of plan.directories) {
        const current = watched.get(directory);
        if (current !== undefined) current.planned = planned;
        else if (!planned.reportsChanges) failures.set(directory, describeSilence(directory));
        else if (!failures.has(directory) && unlisted.get(directory) !== planned.id) start(directory, planned);
      }
    },
    /** After a change without an event: the next `follow` creates all watches again. */
    renew() {
      unlisted.clear();
      for (const directory of watched.keys()) stop(directory);
    },
    /** `polling` as soon as one directory cannot be watched. */
    mode(): WatchMode {
      const [reason] = failures.values();
      return reason === undefined ? { mode: "events", reason: null } : { mode: "polling", reason };
    },
    /** Tries again to watch the directories that failed. */
    retry() {
      for (const directory of failures.keys()) {
        const planned = latest.directories.get(directory);
        if (planned?.reportsChanges === true && !watched.has(directory)) start(directory, planned);
      }
    },
    close() {
      for (const directory of watched.keys()) stop(directory);
    },
  };
}

/** True for a folder that this user may enter but not list, such as a home folder opened by `robot-policy-agent grant`. */
export function isDispensable({ holdsTarget }: PlannedDirectory, code: string): boolean {
  return !holdsTarget && (code === "EACCES" || code === "EPERM");
}

function describeFailure(directory: string, code: string): string {
  switch (code) {
    case "ENOSPC":
      return `${directory} cannot be watched: all inotify watches are in use (raise fs.inotify.max_user_watches)`;
    case "EMFILE":
      return `${directory} cannot be watched: all inotify instances are in use (raise fs.inotify.max_user_instances)`;
    case "EACCES":
    case "EPERM":
      return `${directory} cannot be watched: no permission to read it`;
    default:
      return `${directory} cannot be watched: ${code}`;
  }
}
