import type { ServiceMachine } from "../machine.ts";
import type { UsageTime } from "./period.ts";

/** What the wall clock may be set by at once and is still followed as it goes: it counts as time that passed. */
export const CORRECTION_MAXIMUM_MS = 60_000;
/** How long the wall clock must have gone on evenly after a jump until it is believed. */
export const STEADY_MS = 120_000;

const SECOND_MS = 1000;

/** The time that usage is metered by. One for each service. */
export interface UsageClock {
  now(): UsageTime;
  /**
   * Believes a wall clock that has gone on evenly since it jumped. To be called when no running period is left from before
   * the last jump. @returns whether there was something to believe.
   */
  settle(): boolean;
}

/**
 * A wall clock that does not jump: usage is time that passed, and a clock that was set is no time.
 *
 * As long as the process runs, time goes on as monotonic time does. A wall clock that departs from it is left alone until it
 * comes back, or has gone on evenly for `STEADY_MS`; then it is believed. A jump forward leaves a stretch that nobody used:
 * periods from before it end where it begins. After a jump back by a day or less nothing is counted until the clock is where
 * it was, so that no second is in the ledger twice; after a longer one the clock was wrong before, and what its periods say is
 * passed over (`AHEAD_MAXIMUM_MS`). So a jump costs a day of use at most and adds `CORRECTION_MAXIMUM_MS` at most.
 *
 * A process that starts has nothing but the wall clock: the outage before it counts, by that clock. So does a jump in the
 * `STEADY_MS` before it. Replicas need clocks that agree.
 */
export function createUsageClock({ clock, log }: Pick<ServiceMachine, "clock" | "log">): UsageClock {
  let believed_ms = clock.wall_ms();
  let looked_ms = clock.monotonic_ms();
  let skipped: UsageTime["skipped"] = null;
  /** By how much the wall clock is off, and since when, in monotonic time. */
  let jump: { readonly ahead_ms: number; readonly since_ms: number } | null = null;

  function look(): void {
    const now_ms = clock.monotonic_ms();
    believed_ms += now_ms - looked_ms;
    looked_ms = now_ms;
    const wall_ms = clock.wall_ms();
    const ahead_ms = wall_ms - believed_ms;
    if (Math.abs(ahead_ms) <= CORRECTION_MAXIMUM_MS) {
      believed_ms = wall_ms;
      jump = null;
      return;
    }
    if (jump === null) log.warn("clock_jumped", { ahead_seconds: Math.round(ahead_ms / SECOND_MS) });
    if (jump === null || Math.abs(ahead_ms - jump.ahead_ms) > CORRECTION_MAXIMUM_MS) {
      jump = { ahead_ms, since_ms: now_ms };
    }
  }

  return {
    now() {
      look();
      return { at: isoOf(believed_ms), skipped };
    },
    settle() {
      look();
      if (jump === null || looked_ms - jump.since_ms < STEADY_MS) return false;
      const from_ms = Math.floor(believed_ms / SECOND_MS) * SECOND_MS;
      const until_ms = from_ms + Math.floor(jump.ahead_ms / SECOND_MS) * SECOND_MS;
      skipped = jump.ahead_ms > 0 ? { from: isoOf(from_ms), until: isoOf(until_ms) } : null;
      log.warn("clock_believed", { ahead_seconds: Math.round(jump.ahead_ms / SECOND_MS) });
      believed_ms += jump.ahead_ms;
      jump = null;
      return true;
    },
  };
}

function isoOf(epoch_ms: number): string {
  return new Date(epoch_ms).toISOString();
}
