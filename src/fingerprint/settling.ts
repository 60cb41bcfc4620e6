import type { Clock } from "../platform/clock.ts";
import { RACY_MS } from "./sightings.ts";

export interface SettlingLimits {
  /** How long a file must hold still before it is read. */
  readonly settleMs: number;
  /** How long a file that does not hold still, or looks half-written, is waited for. */
  readonly graceMs: number;
}

/** The two kinds of patience with writers. Both end: what never settles is taken as it is. */
export interface Settling {
  /** Milliseconds to wait for a file that was quiet for `quietMs`; 0 when it holds still, or was waited for long enough. */
  unrestMs(path: string, quietMs: number): number;
  /** True when the file did not hold still the last time it was asked about. */
  isUnsettled(path: string): boolean;
  /** True when the file did not hold still for the whole grace, and is not waited for any more. */
  isRestless(path: string): boolean;
  /**
   * Milliseconds to wait for content that looks half-written; 0 when the grace is over. Not to be asked more often than that.
   *
   * Each content has a grace of its own. A file that never holds still may have another content at each look, so all of it that looks
   * half-written shares one grace, until a look finds it whole.
   */
  suspicionMs(path: string, sha256: string, quietMs: number): number;
  /** This content counts: what looks odd about it needs no patience again. */
  accept(path: string, sha256: string): void;
  /** The wait is over, one way or the other; the next unrest starts a new grace. */
  restart(path: string): void;
  /** What stands there makes sense, or nothing stands there: the next half-written content is a new one. */
  clear(path: string): void;
  /** Nobody looked for `unwatchedMs`. After more than the grace, what was restless or half-written before says nothing about now. */
  resume(unwatchedMs: number): void;
  retain(paths: ReadonlySet<string>): void;
}

/** How long a file must have been as it is to count as holding still. */
export function stillMs({ settleMs }: SettlingLimits): number {
  return Math.max(settleMs, RACY_MS + 1);
}

export function createSettling(clock: Clock, limits: SettlingLimits): Settling {
  const quietNeededMs = stillMs(limits);
  /** Monotonic time of the first sight of unrest. */
  const restlessSince = new Map<string, number>();
  /** Content that looks half-written, and when it was first seen. */
  const suspects = new Map<string, { readonly sha256: string; readonly sinceMs: number }>();
  const accepted = new Map<string, string>();

  function isRestless(path: string): boolean {
    const sinceMs = restlessSince.get(path);
    return sinceMs !== undefined && clock.monotonicMs() - sinceMs >= limits.graceMs;
  }

  return {
    unrestMs(path, quietMs) {
      if (quietMs >= quietNeededMs) {
        restlessSince.delete(path);
        return 0;
      }
      const nowMs = clock.monotonicMs();
      const sinceMs = restlessSince.get(path) ?? nowMs;
      restlessSince.set(path, sinceMs);
      return Math.max(0, Math.min(quietNeededMs - quietMs, sinceMs + limits.graceMs - nowMs));
    },
    isUnsettled: (path) => restlessSince.has(path),
    isRestless,
    suspicionMs(path, sha256, quietMs) {
      // Whole or not, it holds still: the next unrest starts a new grace.
      if (quietMs >= quietNeededMs) restlessSince.delete(path);
      if (accepted.get(path) === sha256) return 0;
      const nowMs = clock.monotonicMs();
      const known = suspects.get(path);
      const isGoingOn = known !== undefined && (known.sha256 === sha256 || isRestless(path));
      const sinceMs = isGoingOn ? known.sinceMs : nowMs;
      suspects.set(path, { sha256, sinceMs });
      const remainingMs = limits.graceMs - Math.max(quietMs, nowMs - sinceMs);
      // Asked again now and then, in case that nobody reports the end of the writing; the last time is the end of the grace.
      return Math.max(0, remainingMs < 2 * quietNeededMs ? remainingMs : quietNeededMs);
    },
    accept(path, sha256) {
      accepted.set(path, sha256);
    },
    clear(path) {
      suspects.delete(path);
    },
    restart(path) {
      restlessSince.delete(path);
    },
    resume(unwatchedMs) {
      if (unwatchedMs <= limits.graceMs) return;
      restlessSince.clear();
      suspects.clear();
    },
    retain(paths) {
      for (const map of [restlessSince, suspects, accepted]) {
        for (const path of map.keys()) if (!paths.has(path)) map.delete(path);
      }
    },
  };
}
