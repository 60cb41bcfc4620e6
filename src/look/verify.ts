import type { Machine } from "../platform/machine.ts";
import type { Look } from "./look.ts";

export interface VerificationOptions {
  readonly machine: Pick<Machine, "clock" | "random">;
  readonly look: Pick<Look, "verify">;
  readonly signal: AbortSignal;
  /** Content changed without a change of the stat. */
  onChanged(paths: readonly string[]): void;
}

/** How often the small files are read, and how often all; ± 10 %, so that a fleet does not do it at the same time. */
const SMALL_MS = 60 * 60_000;
const ALL_MS = 24 * SMALL_MS;
/** Of the small files in all. */
const SMALL_BYTES = 16 * 1024 * 1024;

/**
 * Reads files again although their stats did not change: all right after the start and daily, small ones hourly, which costs nothing.
 *
 * @returns a function that begins a verification when one is due. It runs beside the loop.
 */
export function createVerification({ machine, look, signal, onChanged }: VerificationOptions): () => void {
  const { clock, random } = machine;
  let dueMs = 0;
  let allDueMs = 0;

  const after = (periodMs: number) => clock.monotonicMs() + periodMs * (0.9 + 0.2 * random.unit());

  async function verify(): Promise<void> {
    // One at a time: each may hang on its disk, and libuv has few threads.
    dueMs = Number.POSITIVE_INFINITY;
    const isAll = clock.monotonicMs() >= allDueMs;
    if (isAll) allDueMs = after(ALL_MS);
    try {
      const paths = await look.verify(isAll ? Infinity : SMALL_BYTES, signal);
      dueMs = after(SMALL_MS);
      if (paths.length > 0) onChanged(paths);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  return () => {
    if (clock.monotonicMs() >= dueMs) void verify();
  };
}
