import { isoNow } from "../../platform/clock.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import {
  type Began,
  closePeriod,
  latestBelieved,
  lockPeriods,
  PERIODS_AT_A_TIME,
  wholeHour,
  wholeSecond,
} from "../usage/index.ts";
import { updateDeployment } from "./queries.ts";

const INTERVAL_MS = 30_000;

/**
 * Splits running usage periods at each full hour (UTC): the part before it is entered in the ledger, and the next period starts there. An
 * outage is one entry. Periods that start in the far future, by a clock that was wrong, start again now.
 */
export function createMeterUsage({
  store,
  newId,
  machine,
}: Pick<OperationContext, "store" | "newId" | "machine">): Task {
  return {
    name: "meter-usage",
    intervalMs: INTERVAL_MS,
    async run(signal) {
      const now = isoNow(machine.clock);
      const cuts: readonly Cut[] = [
        // These would end before they start, so nothing is entered.
        { began: [">", latestBelieved(now)], at: wholeSecond(now) },
        { began: ["<", wholeHour(now)], at: wholeHour(now) },
      ];
      for (const cut of cuts) {
        let count = PERIODS_AT_A_TIME;
        while (count === PERIODS_AT_A_TIME && !signal.aborted) {
          count = await store.write((transaction) => cutPeriods(transaction, cut, () => newId("use")));
        }
      }
    },
  };
}

/** Which periods end, and when: the next ones start there. */
interface Cut {
  readonly began: Began;
  readonly at: string;
}

/** @returns the number of periods, without those that another replica has locked and splits. */
async function cutPeriods(transaction: Transaction, { began, at }: Cut, newUsageId: () => string): Promise<number> {
  const running = await lockPeriods(transaction, began);
  for (const deployment of running) {
    const usageUntil = await closePeriod(transaction, deployment, at);
    await updateDeployment(transaction, deployment, {
      usage_from: at,
      usage_id: newUsageId(),
      usage_until: usageUntil,
    });
  }
  return running.length;
}
