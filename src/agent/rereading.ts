import type { RereadScope } from "../fingerprint/rereading.ts";
import type { Machine } from "../platform/machine.ts";
import type { Collector } from "./collector.ts";

export interface RereadingOptions {
  readonly machine: Pick<Machine, "clock" | "random">;
  readonly collector: Pick<Collector, "reread">;
  readonly signal: AbortSignal;
  /** Content changed without a change of the stat. */
  onChanged(paths: readonly string[]): void;
}

/** How often the small files are read, and how often all; ± 10 %, so that a fleet does not do it at the same time. */
const SMALL_MS = 60 * 60_000;
const ALL_MS = 24 * SMALL_MS;

/**
 * Reads files again although their stats did not change: a swapped disk image, or stores through a memory mapping, move no timestamp.
 *
 * The first reread, right after the start, concerns the files whose hashes were inherited from an earlier process. From then on small files
 * are read hourly, which costs nothing, and all daily.
 *
 * @returns a function that begins a reread when one is due. It runs beside the loop.
 */
export function createRereading({ machine, collector, signal, onChanged }: RereadingOptions) {
  const { clock, random } = machine;
  let dueMs = 0;
  let allDueMs = Number.NaN;

  const after = (periodMs: number) => clock.monotonicMs() + periodMs * (0.9 + 0.2 * random.unit());

  function nextScope(): RereadScope {
    if (clock.monotonicMs() < allDueMs) return "small";
    const isFirst = Number.isNaN(allDueMs);
    allDueMs = after(ALL_MS);
    return isFirst ? "inherited" : "all";
  }

  async function reread(): Promise<void> {
    const scope = nextScope();
    // One at a time: each may hang on its disk, and libuv has few threads.
    dueMs = Number.POSITIVE_INFINITY;
    try {
      const paths = await collector.reread(scope, signal);
      dueMs = after(SMALL_MS);
      if (paths.length > 0) onChanged(paths);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  return () => {
    if (clock.monotonicMs() >= dueMs) void reread();
  };
}
