import type { ServiceMachine } from "../kernel/machine.ts";
import type { OperationContext } from "../kernel/operation.ts";
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

/** What those who meter work with. */
export interface MeteringContext extends OperationContext {
  readonly usageClock: UsageClock;
}

/**
 * A wall clock that does not jump: setting the system clock must not count as usage.
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
  let believedMs = clock.wallMs();
  let lookedMs = clock.monotonicMs();
  let skipped: UsageTime["skipped"] = null;
  /** By how much the wall clock is off, and since when, in monotonic time. */
  let jump: { readonly aheadMs: number; readonly sinceMs: number } | null = null;

  function look(): void {
    const nowMs = clock.monotonicMs();
    believedMs += nowMs - lookedMs;
    lookedMs = nowMs;
    const wallMs = clock.wallMs();
    const aheadMs = wallMs - believedMs;
    if (Math.abs(aheadMs) <= CORRECTION_MAXIMUM_MS) {
      believedMs = wallMs;
      jump = null;
      return;
    }
    if (jump === null) log.warn("clock_jumped", { ahead_seconds: Math.round(aheadMs / SECOND_MS) });
    if (jump === null || Math.abs(aheadMs - jump.aheadMs) > CORRECTION_MAXIMUM_MS) {
      jump = { aheadMs, sinceMs: nowMs };
    }
  }

  return {
    now() {
      look();
      return { at: isoOf(believedMs), skipped };
    },
    settle() {
      look();
      if (jump === null || lookedMs - jump.sinceMs < STEADY_MS) return false;
      const fromMs = Math.floor(believedMs / SECOND_MS) * SECOND_MS;
      const untilMs = fromMs + Math.floor(jump.aheadMs / SECOND_MS) * SECOND_MS;
      skipped = jump.aheadMs > 0 ? { from: isoOf(fromMs), until: isoOf(untilMs) } : null;
      log.warn("clock_believed", { ahead_seconds: Math.round(jump.aheadMs / SECOND_MS) });
      believedMs += jump.aheadMs;
      jump = null;
      return true;
    },
  };
}

function isoOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
