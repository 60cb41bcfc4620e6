import type { Clock } from "../platform/clock.ts";
import type { FileStat, Files } from "../platform/files/files.ts";
import { errorCode } from "../platform/files/files.ts";

/**
 * Timestamps come from the kernel's tick, at most 10 ms long, so two writes within one leave the same stat. Like git's index
 * (Documentation/technical/racy-git), what was read that close to the last change is not trusted to stand for the file.
 */
export const RACY_MS = 20;

/** The same for filesystems that keep whole or even seconds only (ext3, FAT). */
const RACY_WHOLE_SECONDS_MS = 2000;

const SECOND_NS = 1_000_000_000n;
const HUNDREDTH_NS = SECOND_NS / 100n;

/** What a look at a path showed: a file, or why there is none to see. */
export type View =
  | { readonly kind: "seen"; readonly stat: FileStat }
  | { readonly kind: "hidden"; readonly code: string };

/** What each path looked like the last time, and for how long it has looked like that. */
export interface Sightings {
  /** Looks at all paths. @throws `signal.reason` when the signal aborts. */
  look(paths: readonly string[], signal: AbortSignal | undefined): Promise<void>;
  /** The last look. */
  view(path: string): View | undefined;
  /**
   * Milliseconds that the path had been as it is, at the last look: by its own timestamps against the wall clock, or because
   * this process has seen it so, whichever proves more.
   */
  quietMs(path: string): number;
  /** True when every change after the last look shows in a stat: what is read then stands for the file until its stat moves. */
  isTrustworthy(path: string): boolean;
  /** Milliseconds since the last look at any path. */
  unwatchedMs(): number;
  /** Forgets every path but these. */
  retain(paths: ReadonlySet<string>): void;
}

interface Sighting {
  readonly view: View;
  /** Monotonic: right after the first look that showed this view. */
  readonly since_ms: number;
  /** Right before the last look that showed it. */
  readonly seen: Instant;
  /** Monotonic: right before the last look that showed another view, so that the change came later. */
  readonly changed_after_ms: number;
}

interface Instant {
  readonly monotonicMs: number;
  wallMs: number;
}

/** The wall clock ran ahead of the monotonic one by more than slewing explains: somebody set it. */
const STEP_MS = 100;

export function createSightings({ files, clock }: { readonly files: Files; readonly clock: Clock }): Sightings {
  const sightings = new Map<string, Sighting>();
  let last: Instant = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  /** Timestamps before this wall time are older than they seem, by an unknown part of a step of the clock. */
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
    const before: Instant = { ...now() };
    const view = await viewOf(files, path);
    const after = now();
    if (after.wallMs < before.wallMs) before.wallMs = after.wallMs;
    const previous = sightings.get(path);
    if (previous !== undefined && sameView(previous.view, view)) {
      sightings.set(path, { ...previous, seen: before });
      return;
    }
    const changedAfterMs = previous?.seen.monotonicMs ?? Number.NEGATIVE_INFINITY;
    sightings.set(path, { view, since_ms: clock.monotonicMs(), seen: before, changed_after_ms: changedAfterMs });
  }

  function quietMs(path: string): number {
    const sighting = sightings.get(path);
    if (sighting === undefined) return 0;
    const { view, since_ms: sinceMs, seen, changed_after_ms: changedAfterMs } = sighting;
    const seenMs = Math.max(0, seen.monotonicMs - sinceMs);
    if (view.kind === "hidden") return seenMs;
    const changedNs = changedAt_ns(view.stat);
    // Any moment of what the timestamp rounds to: meanwhile the file may change without a sign of it.
    const coarsenessMs = coarsenessOf_ms(view.stat);
    const changedMs = Number(changedNs / 1000n) / 1000 + coarsenessMs;
    const watchedMs = seenMs - coarsenessMs;
    if (changedMs < misdatedBeforeMs) return watchedMs;
    // The clock of a file server may be behind; a change that was seen to happen is no older than that.
    const datedMs = Math.min(seen.wallMs - changedMs, seen.monotonicMs - changedAfterMs);
    return Math.max(watchedMs, datedMs);
  }

  return {
    async look(paths, signal) {
      signal?.throwIfAborted();
      await Promise.all(paths.map(lookAt));
      signal?.throwIfAborted();
    },
    view: (path) => sightings.get(path)?.view,
    quietMs,
    isTrustworthy(path) {
      const view = sightings.get(path)?.view;
      return view?.kind === "hidden" || (view !== undefined && quietMs(path) > racyWindow_ms(view.stat));
    },
    unwatchedMs: () => clock.monotonicMs() - last.monotonicMs,
    retain(paths) {
      for (const path of sightings.keys()) if (!paths.has(path)) sightings.delete(path);
    },
  };
}

/** True when nothing wrote or replaced the file between the two stats, as far as timestamps can tell. */
export function sameStat(one: FileStat, other: FileStat): boolean {
  return (
    one.kind === other.kind &&
    one.inode === other.inode &&
    one.device === other.device &&
    one.size_bytes === other.size_bytes &&
    one.mtime_ns === other.mtime_ns &&
    one.ctime_ns === other.ctime_ns
  );
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

/** A look without leaving the thread. Local filesystems only, where a stat cannot hang. */
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

function changedAt_ns({ mtime_ns: mtimeNs, ctime_ns: ctimeNs }: FileStat): bigint {
  return mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
}

/**
 * What the time of the last change may be rounded to, as far as it shows: FAT keeps even seconds, old ext filesystems whole ones. Where
 * ctime has nanoseconds, a whole second is a date that somebody put back. FAT's may be that of the creation, in hundredths of a second
 * (Linux before 5.19).
 */
function coarsenessOf_ms(stat: FileStat): number {
  if (stat.ctime_ns % HUNDREDTH_NS !== 0n) return 0;
  const changedNs = changedAt_ns(stat);
  if (changedNs % (2n * SECOND_NS) === 0n) return 2000;
  return changedNs % SECOND_NS === 0n ? 1000 : 0;
}

/** How long a file must have been as it is before what is read of it may be trusted. */
function racyWindow_ms({ mtime_ns: mtimeNs, ctime_ns: ctimeNs }: FileStat): number {
  const hasWholeSeconds = mtimeNs % SECOND_NS === 0n || ctimeNs % SECOND_NS === 0n;
  return hasWholeSeconds ? RACY_WHOLE_SECONDS_MS : RACY_MS;
}
