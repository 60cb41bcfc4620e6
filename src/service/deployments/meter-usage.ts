import type { Transaction } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task.ts";
import {
  type Began,
  type ClockJump,
  closePeriod,
  latestBelieved,
  lockPeriods,
  type MeteringContext,
  PERIODS_AT_A_TIME,
  type UsageTime,
  wholeHour,
  wholeSecond,
} from "../usage/index.ts";
import { updateDeployment } from "./queries.ts";

const INTERVAL_MS = 30_000;

/**
 * Splits running usage periods at each full hour (UTC): the part before it is entered in the ledger, and the next period starts there. An
 * outage is one entry. Periods are also split where the clock jumped, so that none covers skipped time, and none starts in the far future.
 */
export function createMeterUsage({ store, newId, usageClock }: Context): Task {
  async function cutAll(cut: Cut, signal: AbortSignal): Promise<void> {
    let count = PERIODS_AT_A_TIME;
    while (count === PERIODS_AT_A_TIME && !signal.aborted) {
      count = await store.write((transaction) => cutPeriods(transaction, cut, () => newId("use")));
    }
  }

  return {
    name: "meter-usage",
    intervalMs: INTERVAL_MS,
    async run(signal) {
      let jump: ClockJump | null = null;
      do {
        for (const cut of cutsAt(usageClock.now())) await cutAll(cut, signal);
        jump = usageClock.steadyJump();
        if (jump !== null && jump.aheadMs < 0) await cutAll(cutNow(usageClock.now()), signal);
      } while (!signal.aborted && jump !== null && usageClock.accept(jump));
    },
  };
}

type Context = Pick<MeteringContext, "store" | "newId" | "usageClock">;

/** Which periods end, when they end, and when the next ones start. */
interface Cut {
  readonly began: Began;
  readonly end: UsageTime;
  readonly nextFrom: string;
}

function cutsAt(now: UsageTime): readonly Cut[] {
  const { at, skipped } = now;
  const hour = wholeHour(at);
  const cuts: Cut[] = [
    // These would end before they start, so nothing is entered.
    { began: [">", latestBelieved(at)], end: now, nextFrom: wholeSecond(at) },
    { began: ["<", hour], end: { at: hour, skipped }, nextFrom: hour },
  ];
  if (skipped === null) return cuts;
  return [{ began: ["<", skipped.before], end: now, nextFrom: skipped.until }, ...cuts];
}

function cutNow(now: UsageTime): Cut {
  const nextFrom = wholeSecond(now.at);
  return { began: ["<", nextFrom], end: now, nextFrom };
}

/** @returns the number of periods, without those that another replica has locked and splits. */
async function cutPeriods(
  transaction: Transaction,
  { began, end, nextFrom }: Cut,
  newUsageId: () => string,
): Promise<number> {
  const running = await lockPeriods(transaction, began);
  for (const deployment of running) {
    const usageUntil = await closePeriod(transaction, deployment, end);
    await updateDeployment(transaction, deployment, {
      usage_from: nextFrom,
      usage_id: newUsageId(),
      usage_until: usageUntil,
    });
  }
  return running.length;
}
