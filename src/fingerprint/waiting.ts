import type { FileStat } from "../platform/files/files.ts";
import { HELD_OPEN_LIMIT_MS, type HeldOpen } from "./held-open.ts";
import { RACY_MS } from "./observations.ts";
import { type Cut, hashOf, type Memory, suitableStat } from "./reading.ts";
import { type Settling, type SettlingLimits, stillMs } from "./settling.ts";

/** Files are being written: collect again after `waitMs`. */
export interface Unsettled {
  readonly kind: "unsettled";
  readonly waitMs: number;
  readonly paths: readonly string[];
}

export interface WaitingOptions {
  readonly memory: Memory;
  readonly settling: Settling;
  readonly holders: HeldOpen;
  readonly limits: SettlingLimits;
}

/** What a collect waits for, from what it knows of each file. */
export function createWaiting({ memory, settling, holders, limits }: WaitingOptions) {
  const { observations } = memory;

  return {
    /**
     * Looks for programs that have changed files open for writing: when a change is first seen (most writers have closed the file by
     * then), and again once the file has settled.
     */
    async lookForWriters(paths: readonly string[], cut: Cut, signal: AbortSignal | undefined) {
      const targets = new Map<string, FileStat>();
      for (const path of paths) {
        const stat = suitableStat(memory, path);
        if (stat === undefined) continue;
        const quietMs = observations.quietMs(path);
        if (quietMs < stillMs(limits) && settling.isUnsettled(path)) continue;
        const isChanged = hashOf(memory, cut, path) === undefined && holders.isUnknown(path, stat);
        const isHeld = holders.holder(path) !== undefined;
        if (isHeld || (isChanged && quietMs < HELD_OPEN_LIMIT_MS)) targets.set(path, stat);
      }
      if (targets.size === 0) return;
      await holders.look(targets);
      // A file that changed since may have been closed by its writer before the search; it is not settled.
      await observations.look(paths, signal);
    },

    /** Files that are still being written; undefined when all have settled or their grace is over. */
    stillChanging: (paths: readonly string[], cut: Cut) =>
      unsettled(paths, (path) => {
        const view = observations.view(path);
        if (view?.kind === "hidden") settling.clear(path);
        const stat = suitableStat(memory, path);
        const isHopeless = view?.kind === "seen" && stat === undefined;
        if (isHopeless || hashOf(memory, cut, path) !== undefined) return 0;
        const goneWaitMs = observations.goneWaitMs(path);
        if (goneWaitMs > 0) return goneWaitMs;
        const settleWaitMs = settling.settleWaitMs(path, observations.quietMs(path));
        return settleWaitMs > 0 || stat === undefined ? settleWaitMs : holders.waitMs(path, stat);
      }),

    /** Files that have settled but look incomplete, or are empty: many programs empty a file long before they write it. */
    stillIncomplete: (paths: readonly string[], cut: Cut) =>
      unsettled(paths, (path) => {
        const hashed = hashOf(memory, cut, path);
        if (hashed?.suspect === true || hashed?.bytes === 0)
          return settling.incompleteWaitMs(path, hashed, observations.quietMs(path));
        settling.clear(path);
        return 0;
      }),

    /** How long to pause before reading, so that a later write gets a different timestamp than the last one (see `RACY_MS`). */
    racyPauseMs(paths: readonly string[], cut: Cut): number {
      const unread = paths.filter(
        (path) => suitableStat(memory, path) !== undefined && hashOf(memory, cut, path) === undefined,
      );
      const pauses = unread.map((path) => RACY_MS + 1 - observations.quietMs(path));
      return Math.ceil(Math.max(0, ...pauses));
    },
  };
}

function unsettled(paths: readonly string[], waitMs: (path: string) => number): Unsettled | undefined {
  const waits = paths.map((path) => ({ path, waitMs: Math.ceil(waitMs(path)) })).filter((wait) => wait.waitMs > 0);
  if (waits.length === 0) return undefined;
  return {
    kind: "unsettled",
    waitMs: Math.max(...waits.map((wait) => wait.waitMs)),
    paths: waits.map(({ path }) => path),
  };
}
