import type { Clock } from "../platform/clock.ts";
import { errorCode, type Files, type FileStat, sameStat } from "../platform/files/files.ts";

/**
 * Timestamps have the resolution of the kernel's tick, at most 10 ms, so two writes within one tick leave the same stat. As in git's
 * index (Documentation/technical/racy-git), a hash that was read this soon after the last change is not trusted.
 */
export const RACY_MS = 20;

/** The same for filesystems with timestamps in whole (ext3) or even (FAT) seconds. */
const RACY_WHOLE_SECONDS_MS = 2000;

const SECOND_NS = 1_000_000_000n;
const HUNDREDTH_NS = SECOND_NS / 100n;

/** The result of a stat: the stat or the error code. */
export type View =
  | { readonly kind: "seen"; readonly stat: FileStat }
  | { readonly kind: "hidden"; readonly code: string };

/** The last stat of each path, and for how long it has been the same. */
export type Observations = ReturnType<typeof createObservations>;

interface Observation {
  readonly view: View;
  /** Monotonic time right after the first look that showed this view. */
  readonly sinceMs: number;
  /** Time right before the last look that showed it. */
  readonly seen: Instant;
  /** Monotonic time right before the last look that showed another view: the change is later. */
  readonly changedAfterMs: number;
}

interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How long a file may be gone before that counts: updates of packages and switches of branches remove files and write them again. */
const GONE_MS = 5000;

/** When the wall clock gains more than this on the monotonic clock, it was set; slewing is slower. */
const STEP_MS = 100;

export function createObservations({ files, clock }: { readonly files: Files; readonly clock: Clock }) {
  const observations = new Map<string, Observation>();
  let last: Instant = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  /** Timestamps before this wall time may be from before a clock step; their age is unknown. */
  let misdatedBeforeMs = Number.NEGATIVE_INFINITY;

  function now(): Instant {
    const instant = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    if (instant.wallMs - last.wallMs - (instant.monotonicMs - last.monotonicMs) > STEP_MS) {
      misdatedBeforeMs = instant.wallMs;
    }
    last = instant;
    return instant;
  }

  async function lookAt(path: string): Promise<void> {
    const before = now();
    const view = await viewOf(files, path);
    const seen = { ...before, wallMs: Math.min(before.wallMs, now().wallMs) };
    const previous = observations.get(path);
    if (previous !== undefined && sameView(previous.view, view)) {
      observations.set(path, { ...previous, seen });
      return;
    }
    const changedAfterMs = previous?.seen.monotonicMs ?? Number.NEGATIVE_INFINITY;
    observations.set(path, { view, sinceMs: clock.monotonicMs(), seen, changedAfterMs });
  }

  /**
   * For how many milliseconds the path was unchanged at the last look: by its timestamps against the wall clock, or since this process
   * first saw this stat, whichever is longer.
   */
  function quietMs(path: string): number {
    const observation = observations.get(path);
    if (observation === undefined) return 0;
    const { view, sinceMs, seen, changedAfterMs } = observation;
    const seenMs = Math.max(0, seen.monotonicMs - sinceMs);
    if (view.kind === "hidden") return seenMs;
    const changedNs = changedAtNs(view.stat);
    // A rounded timestamp hides changes for as long as it rounds to.
    const coarsenessMs = coarsenessMsOf(view.stat);
    const changedMs = Number(changedNs / 1000n) / 1000 + coarsenessMs;
    const watchedMs = seenMs - coarsenessMs;
    if (changedMs < misdatedBeforeMs) return watchedMs;
    // The clock of a file server may be behind, so a change cannot be older than the last look that showed another view.
    const datedMs = Math.min(seen.wallMs - changedMs, seen.monotonicMs - changedAfterMs);
    return Math.max(watchedMs, datedMs);
  }

  return {
    /** Stats all paths. @throws `signal.reason` when the signal aborts. */
    async look(paths: readonly string[], signal: AbortSignal | undefined) {
      signal?.throwIfAborted();
      await Promise.all(paths.map(lookAt));
      signal?.throwIfAborted();
    },
    /** The result of the last look. */
    view: (path: string) => observations.get(path)?.view,
    quietMs,
    /** Milliseconds for which a file that was there may still return. 0 for others, and for one that was missing at the first look. */
    goneWaitMs(path: string): number {
      const observation = observations.get(path);
      const isGone = observation?.view.kind === "hidden" && observation.changedAfterMs > Number.NEGATIVE_INFINITY;
      return isGone ? Math.max(0, GONE_MS - quietMs(path)) : 0;
    },
    /** True when every change after the last look changes the stat, so that content read after it is valid until the stat changes. */
    isTrustworthy(path: string): boolean {
      const view = observations.get(path)?.view;
      return view?.kind === "hidden" || (view !== undefined && quietMs(path) > racyWindowMs(view.stat));
    },
    /** Milliseconds since the last look at any path. */
    unwatchedMs: () => clock.monotonicMs() - last.monotonicMs,
    /** Forgets all other paths. */
    retain(paths: ReadonlySet<string>) {
      for (const path of observations.keys()) if (!paths.has(path)) observations.delete(path);
    },
  };
}

export function sameView(one: View, other: View): boolean {
  if (one.kind === "seen") return other.kind === "seen" && sameStat(one.stat, other.stat);
  return other.kind === "hidden" && one.code === other.code;
}

async function viewOf(files: Files, path: string): Promise<View> {
  try {
    return { kind: "seen", stat: await files.stat(path) };
  } catch (error) {
    return hidden(error);
  }
}

/** A synchronous stat. Local filesystems only, where it cannot hang. */
export function viewNow(files: Files, path: string): View {
  try {
    return { kind: "seen", stat: files.statNow(path) };
  } catch (error) {
    return hidden(error);
  }
}

function hidden(error: unknown): View {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return { kind: "hidden", code };
}

function changedAtNs({ mtimeNs, ctimeNs }: FileStat): bigint {
  return mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
}

/**
 * The resolution of the file's timestamps, guessed from their values: FAT keeps even seconds, old ext filesystems whole seconds. When
 * ctime has nanoseconds, an mtime of a whole second was set by a program. On FAT, ctime may be the creation time in hundredths of a
 * second (Linux before 5.19).
 */
function coarsenessMsOf(stat: FileStat): number {
  if (stat.ctimeNs % HUNDREDTH_NS !== 0n) return 0;
  const changedNs = changedAtNs(stat);
  if (changedNs % (2n * SECOND_NS) === 0n) return 2000;
  return changedNs % SECOND_NS === 0n ? 1000 : 0;
}

/** How long a file must be unchanged before its hash can be trusted. */
function racyWindowMs({ mtimeNs, ctimeNs }: FileStat): number {
  const hasWholeSeconds = mtimeNs % SECOND_NS === 0n || ctimeNs % SECOND_NS === 0n;
  return hasWholeSeconds ? RACY_WHOLE_SECONDS_MS : RACY_MS;
}
