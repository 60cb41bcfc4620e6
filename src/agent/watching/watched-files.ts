import type { Files } from "../../platform/files/files.ts";
import { EMPTY_PLAN, isLocal, isPlanCurrent, planWatches } from "./watch-plan.ts";
import { createWatcher, type WatcherOptions, type WatchMode } from "./watcher.ts";

export interface WatchedFilesOptions extends Pick<WatcherOptions, "events" | "onChange" | "onGone"> {
  readonly files: Files;
  paths(): readonly string[];
  onMode(mode: WatchMode): void;
}

/** The files that a run reads, and the watches of the folders on the way to them. */
export function createWatchedFiles(options: WatchedFilesOptions) {
  const { files, events, onGone } = options;
  let plan = EMPTY_PLAN;
  let plannedPaths = "";
  let isDoubted = true;

  const watcher = createWatcher({
    events,
    onChange() {
      isDoubted = true;
      options.onChange();
    },
    onGone,
    onMode: () => options.onMode(watcher.mode()),
  });

  /** Plans anew which folders to watch. Reads links and stats only. */
  async function planAnew(): Promise<void> {
    isDoubted = false;
    const paths = options.paths();
    plannedPaths = paths.join("\n");
    plan = await planWatches(files, paths);
  }

  return {
    plan: planAnew,
    /** Links and folders may lead elsewhere now: the next `follow` plans anew. */
    doubt() {
      isDoubted = true;
    },
    /** Watches what is planned. */
    async follow() {
      if (isDoubted) await planAnew();
      watcher.follow(plan);
      options.onMode(watcher.mode());
    },
    /** True when other files belong to a run than were planned. */
    isOutdated: () => options.paths().join("\n") !== plannedPaths,
    /** True when no folder was replaced and no stat can hang. Synchronous stats only. */
    isCurrent: () => isLocal(files, plan) && isPlanCurrent(files, plan),
    /**
     * After a change without an event: the next `follow` creates all watches again. Not with files on a drive that can hang: there every poll
     * starts a run, changed or not.
     */
    renew() {
      if (plan.isLocal) watcher.renew();
    },
    /** Tries again to watch the folders that failed. */
    retry: watcher.retry,
    get mode() {
      return watcher.mode();
    },
    /** How many folders are planned. */
    get folderCount() {
      return plan.directories.size;
    },
    close: watcher.close,
  };
}
