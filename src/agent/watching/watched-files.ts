import type { FileEvents } from "../../platform/files/file-events.ts";
import type { Files } from "../../platform/files/files.ts";
import { EMPTY_PLAN, isLocal, isPlanCurrent, planWatches } from "./watch-plan.ts";
import type { WatchMode } from "./watcher.ts";
import { createWatcher } from "./watcher.ts";

/** The files that a run reads, and the watches of the folders on the way to them. */
export interface WatchedFiles {
  /** Plans anew which folders to watch. Reads links and stats only. */
  plan(): Promise<void>;
  /** Links and folders may lead elsewhere now: the next `follow` plans anew. */
  doubt(): void;
  /** Watches what is planned. */
  follow(): Promise<void>;
  /** True when other files belong to a run than were planned. */
  isOutdated(): boolean;
  /** True when no folder was replaced and no stat can hang. Synchronous stats only. */
  isCurrent(): boolean;
  /** After a change without an event: the next `follow` creates all watches again. */
  renew(): void;
  /** Tries again to watch the folders that failed. */
  retry(): void;
  readonly mode: WatchMode;
  /** How many folders are planned. */
  readonly folderCount: number;
  close(): void;
}

export interface WatchedFilesOptions {
  readonly files: Files;
  readonly events: FileEvents;
  paths(): readonly string[];
  /** Something may have changed. */
  onChange(): void;
  /** A folder itself was unmounted, removed or moved. Its replacement may be another disk with equal timestamps. */
  onGone(): void;
  onMode(mode: WatchMode): void;
}

export function createWatchedFiles(options: WatchedFilesOptions): WatchedFiles {
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

  async function planAnew(): Promise<void> {
    isDoubted = false;
    const paths = options.paths();
    plannedPaths = paths.join("\n");
    plan = await planWatches(files, paths);
  }

  return {
    plan: planAnew,
    doubt() {
      isDoubted = true;
    },
    async follow() {
      if (isDoubted) await planAnew();
      watcher.follow(plan);
      options.onMode(watcher.mode());
    },
    isOutdated: () => options.paths().join("\n") !== plannedPaths,
    isCurrent: () => isLocal(files, plan) && isPlanCurrent(files, plan),
    renew: watcher.renew,
    retry: watcher.retry,
    get mode() {
      return watcher.mode();
    },
    get folderCount() {
      return plan.directories.size;
    },
    close: watcher.close,
  };
}
