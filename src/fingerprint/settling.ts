import type { Clock } from "../platform/clock.ts";
import { RACY_MS } from "./observations.ts";
import type { FileFingerprint } from "./snapshot.ts";

export interface SettlingLimits {
  /** How long a file must hold still before it is read. */
  readonly settleMs: number;
  /** How long to wait for a file that keeps changing or looks incomplete. */
  readonly graceMs: number;
}

/** Content of a file as far as the waits depend on it. */
type Content = Pick<FileFingerprint, "sha256" | "bytes" | "suspect">;

/** How long a file may be empty that had content. Calibration programs empty their file, and write it once a person has moved the robot. */
const EMPTIED_MS = 60_000;

/** How long to wait for a file that keeps changing, and for one that looks incomplete. Both waits end: the file is then hashed as it is. */
export type Settling = ReturnType<typeof createSettling>;

/** How long a file must be unchanged to count as settled. */
export function stillMs({ settleMs }: SettlingLimits): number {
  return Math.max(settleMs, RACY_MS + 1);
}

export function createSettling(clock: Clock, limits: SettlingLimits) {
  const quietNeededMs = stillMs(limits);
  /** Monotonic time at which the file was first seen to change. */
  const changingSince = new Map<string, number>();
  /** Content that looks incomplete, and when it was first seen. */
  const incomplete = new Map<string, { readonly sha256: string; readonly sinceMs: number }>();
  const accepted = new Map<string, string>();
  /** Files that had content when they were hashed. */
  const filled = new Set<string>();

  /** True when the file kept changing for the whole grace. */
  function isRestless(path: string): boolean {
    const sinceMs = changingSince.get(path);
    return sinceMs !== undefined && clock.monotonicMs() - sinceMs >= limits.graceMs;
  }

  /** True for a file that had content and is empty now. */
  function isEmptied(path: string, { bytes }: Pick<Content, "bytes">): boolean {
    return bytes === 0 && filled.has(path);
  }

  return {
    /** Milliseconds to wait for a file that has not changed for `quietMs`; 0 when it has settled or its grace is over. */
    settleWaitMs(path: string, quietMs: number): number {
      if (quietMs >= quietNeededMs) {
        changingSince.delete(path);
        return 0;
      }
      const nowMs = clock.monotonicMs();
      const sinceMs = changingSince.get(path) ?? nowMs;
      changingSince.set(path, sinceMs);
      return Math.max(0, Math.min(quietNeededMs - quietMs, sinceMs + limits.graceMs - nowMs));
    },
    /** True when the file was not settled at the last call of `settleWaitMs`. */
    isUnsettled: (path: string) => changingSince.has(path),
    isRestless,
    isEmptied,
    /**
     * Milliseconds to wait for content that looks incomplete; 0 when the grace is over.
     *
     * Each content has its own grace. A file that keeps changing may have another content at each look, so all its incomplete contents
     * share one grace, until a look finds it complete.
     */
    incompleteWaitMs(path: string, content: Pick<Content, "sha256" | "bytes">, quietMs: number): number {
      const { sha256 } = content;
      // Complete or not, the file has settled: the next change starts a new grace.
      if (quietMs >= quietNeededMs) changingSince.delete(path);
      if (accepted.get(path) === sha256) return 0;
      const nowMs = clock.monotonicMs();
      const known = incomplete.get(path);
      const isGoingOn = known !== undefined && (known.sha256 === sha256 || isRestless(path));
      const sinceMs = isGoingOn ? known.sinceMs : nowMs;
      incomplete.set(path, { sha256, sinceMs });
      const graceMs = isEmptied(path, content) ? Math.max(limits.graceMs, EMPTIED_MS) : limits.graceMs;
      const remainingMs = graceMs - Math.max(quietMs, nowMs - sinceMs);
      // Ask again in short steps, in case no event reports the end of the writing; the last step ends with the grace.
      return Math.max(0, remainingMs < 2 * quietNeededMs ? remainingMs : quietNeededMs);
    },
    /** This content was hashed: `incompleteWaitMs` does not wait for it again. */
    accept(path: string, { sha256, bytes, suspect }: Content) {
      accepted.set(path, sha256);
      if (bytes > 0 || suspect) filled.add(path);
    },
    /** The content is complete, or the file is missing: the next incomplete content starts a new grace. */
    clear(path: string) {
      incomplete.delete(path);
    },
    /** The wait is over: the next change starts a new grace. */
    restart(path: string) {
      changingSince.delete(path);
    },
    /** No look happened for `unwatchedMs`. When that is longer than the grace, earlier changes no longer count. */
    resume(unwatchedMs: number) {
      if (unwatchedMs <= limits.graceMs) return;
      changingSince.clear();
      incomplete.clear();
    },
    retain(paths: ReadonlySet<string>) {
      for (const each of [changingSince, incomplete, accepted, filled]) {
        for (const path of each.keys()) if (!paths.has(path)) each.delete(path);
      }
    },
  };
}
