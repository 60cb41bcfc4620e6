import type { Clock } from "../platform/clock.ts";
import type { FileStat, Files } from "../platform/files.ts";
import { errorCode } from "../platform/files.ts";

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
  quiet_ms(path: string): number;
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
  readonly monotonic_ms: number;
  wall_ms: number;
}

/** The wall clock ran ahead of the monotonic one by more than slewing explains: somebody set it. */
const STEP_MS = 100;

export function createSightings({ files, clock }: { readonly files: Files; readonly clock: Clock }): Sightings {
  const sightings = new Map<string, Sighting>();
  let last: Instant = { monotonic_ms: clock.monotonic_ms(), wall_ms: clock.wall_ms() };
  /** Timestamps before this wall time are older than they seem, by an unknown part of a step of the clock. */
  let misdated_before_ms = Number.NEGATIVE_INFINITY;

  function now(): Instant {
    const instant = { monotonic_ms: clock.monotonic_ms(), wall_ms: clock.wall_ms() };
    if (instant.wall_ms - last.wall_ms - (instant.monotonic_ms - last.monotonic_ms) > STEP_MS) {
      misdated_before_ms = instant.wall_ms;
    }
    last = instant;
    return instant;
  }

  async function lookAt(path: string): Promise<void> {
    const before: Instant = { ...now() };
    const view = await viewOf(files, path);
    const after = now();
    if (after.wall_ms < before.wall_ms) before.wall_ms = after.wall_ms;
    const previous = sightings.get(path);
    if (previous !== undefined && sameView(previous.view, view)) {
      sightings.set(path, { ...previous, seen: before });
      return;
    }
    const changed_after_ms = previous?.seen.monotonic_ms ?? Number.NEGATIVE_INFINITY;
    sightings.set(path, { view, since_ms: clock.monotonic_ms(), seen: before, changed_after_ms });
  }

  return {
    async look(paths, signal) {
      signal?.throwIfAborted();
      await Promise.all(paths.map(lookAt));
      signal?.throwIfAborted();
    },
    view: (path) => sightings.get(path)?.view,
    quiet_ms(path) {
      const sighting = sightings.get(path);
      if (sighting === undefined) return 0;
      const { view, since_ms, seen, changed_after_ms } = sighting;
      const seen_ms = Math.max(0, seen.monotonic_ms - since_ms);
      if (view.kind === "hidden") return seen_ms;
      const changed_ms = changedAt_ms(view.stat);
      // Within a whole second a file may change without a sign of it.
      const watched_ms = seen_ms - coarseness_ms(view.stat);
      if (changed_ms < misdated_before_ms) return watched_ms;
      // The clock of a file server may be behind; a change that was seen to happen is no older than that.
      const dated_ms = Math.min(seen.wall_ms - changed_ms, seen.monotonic_ms - changed_after_ms);
      return Math.max(watched_ms, dated_ms);
    },
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

function sameView(one: View, other: View): boolean {
  if (one.kind === "seen") return other.kind === "seen" && sameStat(one.stat, other.stat);
  return other.kind === "hidden" && one.code === other.code;
}

async function viewOf(files: Files, path: string): Promise<View> {
  try {
    return { kind: "seen", stat: await files.stat(path) };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return { kind: "hidden", code };
  }
}

function changedAt_ms({ mtime_ns, ctime_ns }: FileStat): number {
  const changed_ns = mtime_ns > ctime_ns ? mtime_ns : ctime_ns;
  // A whole second may be any moment of it.
  return Number(changed_ns / 1000n) / 1000 + coarseness_ms({ ctime_ns });
}

function coarseness_ms({ ctime_ns }: Pick<FileStat, "ctime_ns">): number {
  return ctime_ns % 1_000_000_000n === 0n ? 1000 : 0;
}
