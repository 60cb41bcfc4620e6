import type { Clock } from "../platform/clock.ts";
import { type Files, type FileStat, sameStat } from "../platform/files/files.ts";
import { findOpenWriters } from "../platform/files/open-writers.ts";

/**
 * Files that a program holds open for writing, as far as the system lets this user see it.
 *
 * When a look finds no writer, and the file has the same stat after the look as before it, its content is complete.
 */
export type HeldOpen = ReturnType<typeof createHeldOpen>;

/**
 * How long to wait for a writer to close its file. Calibration programs keep the file open while a person moves the robot; a program
 * that never closes its file must not keep changes from being registered.
 */
export const HELD_OPEN_LIMIT_MS = 60_000;

interface Holding {
  readonly processId: number;
  readonly stat: FileStat;
  /** Monotonic time of the first look that found the file open. */
  readonly sinceMs: number;
}

/** There is no event when a file is closed, so the wait polls. A look costs processor time: long waits poll less often. */
const FIRST_PAUSE_MS = 500;
const PAUSE_SHARE = 1 / 8;

export function createHeldOpen(machine: { readonly files: Files; readonly clock: Clock }) {
  const { clock } = machine;
  /** The stat of each file when a look found no writer. */
  const closed = new Map<string, FileStat>();
  const holdings = new Map<string, Holding>();

  /** undefined when another file took its place, as after a rename. */
  function holdingOf(path: string, { device, inode }: FileStat): Holding | undefined {
    const holding = holdings.get(path);
    return holding?.stat.device === device && holding.stat.inode === inode ? holding : undefined;
  }

  return {
    /** True until a look has found that no program writes the file in this state. */
    isUnknown(path: string, stat: FileStat): boolean {
      const known = closed.get(path);
      return known === undefined || !sameStat(known, stat);
    },
    /** Looks for writers of the files; each stat must be older than the call. */
    async look(targets: ReadonlyMap<string, FileStat>) {
      const writers = await findOpenWriters(machine, targets);
      for (const [path, stat] of targets) {
        const processId = writers.get(path);
        if (processId === undefined) {
          holdings.delete(path);
          closed.set(path, stat);
        } else {
          const sinceMs = holdingOf(path, stat)?.sinceMs ?? clock.monotonicMs();
          holdings.set(path, { processId, stat, sinceMs });
        }
      }
    },
    /** Milliseconds to wait for the writer that the last look found; 0 when there was none, or `HELD_OPEN_LIMIT_MS` is over. */
    waitMs(path: string, stat: FileStat): number {
      const holding = holdingOf(path, stat);
      if (holding === undefined) return 0;
      const waitedMs = clock.monotonicMs() - holding.sinceMs;
      const pauseMs = Math.max(FIRST_PAUSE_MS, waitedMs * PAUSE_SHARE);
      return Math.max(0, Math.min(pauseMs, HELD_OPEN_LIMIT_MS - waitedMs));
    },
    /** The process that had the file open for writing at the last look. */
    holder: (path: string) => holdings.get(path)?.processId,
    retain(paths: ReadonlySet<string>) {
      for (const map of [closed, holdings]) {
        for (const path of map.keys()) if (!paths.has(path)) map.delete(path);
      }
    },
  };
}
