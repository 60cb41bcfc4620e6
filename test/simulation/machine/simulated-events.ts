import type { FileEvents } from "../../../src/platform/files/file-events.ts";
import type { Dice } from "../dice.ts";
import type { Process, Scheduler } from "../scheduler.ts";
import type { Disk, Inode } from "./disk.ts";

/** Current reliability of the kernel's file events. */
export interface EventTrouble {
  /** Probability that an event is lost. */
  lossRate: number;
  /** Probability that watching a folder fails. */
  failureRate: number;
  /** Maximum delay of an event. */
  delayMs: number;
}

/** Like inotify(7): a watch belongs to the watched folder itself, not to what later has its path. */
export interface Kernel {
  /** The view of one process. */
  eventsFor(process: Process): FileEvents;
  /** Reports a change in the folder. */
  changed(directory: Inode, name: string | null): void;
}

interface Watch {
  readonly process: Process;
  readonly onEvent: (name: string | null) => void;
  /** Names of pending events. Identical pending events are merged, as in the kernel's queue. */
  readonly coming: Set<string | null>;
  open: boolean;
}

export interface KernelOptions {
  readonly disk: Disk;
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly trouble: EventTrouble;
  readonly silentFolders: readonly string[];
}

export function createKernel({ disk, scheduler, dice, trouble, silentFolders }: KernelOptions): Kernel {
  const watches = new Map<Inode, Set<Watch>>();

  function deliver(watch: Watch, name: string | null): void {
    if (watch.coming.has(name) || dice.chance(trouble.lossRate)) return;
    watch.coming.add(name);
    scheduler.after(dice.between(0.02, trouble.delayMs), watch.process, `event ${name ?? "(folder)"}`, () => {
      watch.coming.delete(name);
      if (watch.open) watch.onEvent(name);
    });
  }

  return {
    eventsFor: (process) => ({
      watch(directory, listener) {
        const watch: Watch = { process, onEvent: (name) => listener.onEvent(name), coming: new Set(), open: true };
        let watched: Inode | null = null;
        scheduler.after(dice.between(0.1, 4 + trouble.delayMs), process, `watch ${directory}`, () => {
          if (!watch.open) return;
          if (dice.chance(trouble.failureRate)) {
            listener.onFailure(dice.pick(["ENOSPC", "EMFILE"]));
            return;
          }
          if (disk.exists(directory)) watched = disk.look(directory);
          if (watched !== null) watches.set(watched, (watches.get(watched) ?? new Set()).add(watch));
          scheduler.after(dice.between(0.1, 4), process, `ready ${directory}`, () => {
            if (watch.open) listener.onReady();
          });
        });
        return {
          close() {
            watch.open = false;
            if (watched !== null) watches.get(watched)?.delete(watch);
          },
        };
      },
    }),
    changed(directory, name) {
      if (silentFolders.some((folder) => disk.exists(folder) && disk.look(folder) === directory)) return;
      for (const watch of watches.get(directory) ?? []) {
        if (watch.process.alive) deliver(watch, name);
        else watches.get(directory)?.delete(watch);
      }
    },
  };
}
