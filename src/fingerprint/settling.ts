import type { Clock } from "../platform/clock.ts";
import { RACY_MS } from "./sightings.ts";

export interface SettlingLimits {
  /** How long a file must hold still before it is read. */
  readonly settle_ms: number;
  /** How long a file that does not hold still, or looks half-written, is waited for. */
  readonly grace_ms: number;
}

/** The two kinds of patience with writers. Both end: what never settles is taken as it is. */
export interface Settling {
  /** Milliseconds to wait for a file that was quiet for `quiet_ms`; 0 when it holds still, or was waited for long enough. */
  unrest_ms(path: string, quiet_ms: number): number;
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
  suspicion_ms(path: string, sha256: string, quiet_ms: number): number;
  /** This content counts: what looks odd about it needs no patience again. */
  accept(path: string, sha256: string): void;
  /** The wait is over, one way or the other; the next unrest starts a new grace. */
  restart(path: string): void;
  /** What stands there makes sense, or nothing stands there: the next half-written content is a new one. */
  clear(path: string): void;
  /** Nobody looked for `unwatched_ms`. After more than the grace, what was restless or half-written before says nothing about now. */
  resume(unwatched_ms: number): void;
  retain(paths: ReadonlySet<string>): void;
}

/** How long a file must have been as it is to count as holding still. */
export function stillMs({ settle_ms }: SettlingLimits): number {
  return Math.max(settle_ms, RACY_MS + 1);
}

export function createSettling(clock: Clock, limits: SettlingLimits): Settling {
  const still_ms = stillMs(limits);
  /** Monotonic time of the first sight of unrest. */
  const restless_since = new Map<string, number>();
  /** Content that looks half-written, and when it was first seen. */
  const suspects = new Map<string, { readonly sha256: string; readonly since_ms: number }>();
  const accepted = new Map<string, string>();

  function isRestless(path: string): boolean {
    const since_ms = restless_since.get(path);
    return since_ms !== undefined && clock.monotonic_ms() - since_ms >= limits.grace_ms;
  }

  return {
    unrest_ms(path, quiet_ms) {
      if (quiet_ms >= still_ms) {
        restless_since.delete(path);
        return 0;
      }
      const now_ms = clock.monotonic_ms();
      const since_ms = restless_since.get(path) ?? now_ms;
      restless_since.set(path, since_ms);
      return Math.max(0, Math.min(still_ms - quiet_ms, since_ms + limits.grace_ms - now_ms));
    },
    isUnsettled: (path) => restless_since.has(path),
    isRestless,
    suspicion_ms(path, sha256, quiet_ms) {
      // Whole or not, it holds still: the next unrest starts a new grace.
      if (quiet_ms >= still_ms) restless_since.delete(path);
      if (accepted.get(path) === sha256) return 0;
      const now_ms = clock.monotonic_ms();
      const known = suspects.get(path);
      const isGoingOn = known !== undefined && (known.sha256 === sha256 || isRestless(path));
      const since_ms = isGoingOn ? known.since_ms : now_ms;
      suspects.set(path, { sha256, since_ms });
      const remaining_ms = limits.grace_ms - Math.max(quiet_ms, now_ms - since_ms);
      // Asked again now and then, in case that nobody reports the end of the writing; the last time is the end of the grace.
      return Math.max(0, remaining_ms < 2 * still_ms ? remaining_ms : still_ms);
    },
    accept(path, sha256) {
      accepted.set(path, sha256);
    },
    clear(path) {
      suspects.delete(path);
    },
    restart(path) {
      restless_since.delete(path);
    },
    resume(unwatched_ms) {
      if (unwatched_ms <= limits.grace_ms) return;
      restless_since.clear();
      suspects.clear();
    },
    retain(paths) {
      for (const map of [restless_since, suspects, accepted]) {
        for (const path of map.keys()) if (!paths.has(path)) map.delete(path);
      }
    },
  };
}
