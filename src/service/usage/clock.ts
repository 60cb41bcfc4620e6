import { isoTime } from "../../platform/clock.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { UsageTime } from "./period.ts";

/** The usage clock follows smaller jumps of the wall clock immediately; they count as time that passed. */
export const CORRECTION_MAXIMUM_MS = 60_000;
/** How long the wall clock must run evenly after a larger jump before it is accepted. */
export const STEADY_MS = 120_000;

const SECOND_MS = 1000;

/** The time that usage is metered by. One for each service. */
export interface UsageClock {
  /** `wall` is the same moment by the wall clock, ISO 8601. */
  now(): UsageTime & { readonly wall: string };
  /** The jump of a wall clock that has run evenly since; null if there is none. */
  steadyJump(): ClockJump | null;
  /**
   * Accepts a jump. Call it when no running period is from before the previous one; and enter the running periods before a jump back,
   * because after it they would end before they start.
   * @returns false if the wall clock has jumped again meanwhile.
   */
  accept(jump: ClockJump): boolean;
}

/** How far the wall clock is ahead of usage time, and since when, in monotonic time. */
export interface ClockJump {
  readonly aheadMs: number;
  readonly sinceMs: number;
}

/** The context of operations and tasks that meter usage. */
export interface MeteringContext extends OperationContext {
  readonly usageClock: UsageClock;
}

/**
 * A wall clock that does not jump: setting the system clock must not count as usage.
 *
 * While the process runs, usage time advances with monotonic time. A wall clock that departs from it is ignored until it returns, or has
 * run evenly for `STEADY_MS`; then it is accepted. The time that a jump forward skips is not counted: periods from before it end where it
 * begins. Periods that start within it, but later than this process has been, are from a process whose clock was right, and continue.
 * After a jump back by at most a day, nothing is counted until the clock reaches its old time, so that no second is in the ledger
 * twice. After a longer one, the clock was wrong before, and the ends of its periods are ignored (`AHEAD_MAXIMUM_MS`). So a jump loses at
 * most a day of usage, and adds at most `CORRECTION_MAXIMUM_MS`.
 *
 * A new process knows only the wall clock: an outage before its start counts as usage, and so does a jump in the `STEADY_MS` before the
 * start. The clocks of replicas must agree.
 */
export function createUsageClock({ clock, log }: Pick<ServiceMachine, "clock" | "log">): UsageClock {
  let wallMs = clock.wallMs();
  let believedMs = wallMs;
  /** The latest time since the start of the process. */
  let latestMs = wallMs;
  let lookedMs = clock.monotonicMs();
  let skipped: UsageTime["skipped"] = null;
  let jump: ClockJump | null = null;

  function look(): void {
    const nowMs = clock.monotonicMs();
    believedMs += nowMs - lookedMs;
    latestMs = Math.max(latestMs, believedMs);
    lookedMs = nowMs;
    wallMs = clock.wallMs();
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
      return { at: isoTime(believedMs), skipped, wall: isoTime(wallMs) };
    },
    steadyJump() {
      look();
      return jump !== null && lookedMs - jump.sinceMs >= STEADY_MS ? jump : null;
    },
    accept(steady) {
      look();
      if (jump !== steady) return false;
      const { aheadMs } = steady;
      const fromMs = Math.floor(believedMs / SECOND_MS) * SECOND_MS;
      const untilMs = fromMs + Math.floor(aheadMs / SECOND_MS) * SECOND_MS;
      const beforeMs = Math.min(latestMs + CORRECTION_MAXIMUM_MS, untilMs);
      skipped = aheadMs > 0 ? { from: isoTime(fromMs), until: isoTime(untilMs), before: isoTime(beforeMs) } : null;
      log.warn("clock_believed", { ahead_seconds: Math.round(aheadMs / SECOND_MS) });
      believedMs += aheadMs;
      jump = null;
      return true;
    },
  };
}
