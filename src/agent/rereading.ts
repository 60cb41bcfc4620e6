import type { RereadScope } from "../fingerprint/fingerprint.ts";
import type { Machine } from "../platform/machine.ts";
import type { Collector } from "./collector.ts";

export interface RereadingOptions {
  readonly machine: Pick<Machine, "clock" | "random">;
  readonly collector: Pick<Collector, "reread">;
  readonly signal: AbortSignal;
  /** Content changed without a change of the stat. */
  onChanged(paths: readonly string[]): void;
}

/** How often all files are read; ± 10 %, so that a fleet does not do it at the same time. */
const REREAD_MS = 24 * 60 * 60_000;

/**
 * Reads files again although their stats did not change: a swapped disk image, or stores through a memory mapping, move no timestamp.
 *
 * The first reread, right after the start, concerns the files whose hashes were inherited from an earlier process.
 *
 * @returns a function that begins a reread when one is due. It runs beside the loop.
 */
export function createRereading({ machine, collector, signal, onChanged }: RereadingOptions) {
  const { clock, random } = machine;
  let dueMs = 0;
  let scope: RereadScope = "inherited";

  async function reread(): Promise<void> {
    const current = scope;
    scope = "all";
    // One at a time: each may hang on its disk, and libuv has few threads.
    dueMs = Number.POSITIVE_INFINITY;
    try {
      const paths = await collector.reread(current, signal);
      dueMs = clock.monotonicMs() + REREAD_MS * (0.9 + 0.2 * random.unit());
      if (paths.length > 0) onChanged(paths);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  return () => {
    if (clock.monotonicMs() >= dueMs) void reread();
  };
}
