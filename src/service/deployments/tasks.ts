import { isoNow } from "../../platform/clock.ts";
import { bringProbesForward } from "../endpoints/index.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import { type Task, createFailingItems } from "../kernel/tasks/task-loop.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { findVerdict } from "../models/index.ts";
import {
  type Began,
  closePeriod,
  latestBelieved,
  lockPeriods,
  PERIODS_AT_A_TIME,
  wholeHour,
  wholeSecond,
} from "../usage/index.ts";
import {
  type DeploymentFacts,
  DEPLOYMENTS_AT_A_TIME,
  findDeploymentFacts,
  listDeploymentFacts,
  lockDeployment,
  updateDeployment,
} from "./queries.ts";
import { changeTimeNow, judge, moveDeployment, type Target } from "./transition.ts";

type Context = Pick<OperationContext, "store" | "newId" | "machine">;

/** Deployments that are judged and moved at once: their moves share commits, and requests get their turn in between. */
const AT_ONCE = 16;
const NAME = "reconcile-deployments";

/**
 * Moves current deployments to the state that they should have: active if their endpoint is healthy; failed if it is not, or if the robot
 * registered with properties that the model cannot drive.
 *
 * Each is moved in a transaction of its own that checks again with the row locked, so that replicas may run concurrently. A
 * deployment that fails is left as it is, and the others continue.
 */
export function createReconcileDeployments(context: Context): Task {
  const failing = createFailingItems(NAME, context.machine.log);
  return {
    name: NAME,
    intervalMs: 2000,
    // A run takes long with very many deployments.
    restRatio: 10,
    async run(signal) {
      for (let after: string | undefined = ""; after !== undefined && !signal.aborted;) {
        await yieldEventLoop();
        const batch: readonly DeploymentFacts[] = await listDeploymentFacts(context.store.reader, after);
        for (let start = 0; start < batch.length && !signal.aborted; start += AT_ONCE) {
          const some = batch.slice(start, start + AT_ONCE);
          await Promise.all(some.map((facts) => failing.attempt(facts.id, () => reconcile(context, facts))));
        }
        after = batch.length < DEPLOYMENTS_AT_A_TIME ? undefined : batch.at(-1)?.id;
      }
    },
  };
}

async function reconcile(context: Context, facts: DeploymentFacts): Promise<void> {
  const { store, machine } = context;
  const { id, organization_id: organizationId, status: from } = facts;
  if ((await findTarget(store.reader, facts, machine.clock.wallMs())) === null) return;
  const time = changeTimeNow(context);
  const moved = await store.write(async (transaction) => {
    const deployment = await lockDeployment(transaction, organizationId, id);
    const locked = await findDeploymentFacts(transaction, id);
    if (deployment === undefined || locked === undefined) return null;
    const target = await findTarget(transaction, locked, Date.parse(time.now));
    if (target === null) return null;
    await moveDeployment(transaction, deployment, target, time);
    if (target.status === "preparing") await bringProbesForward(transaction, locked.checkpoint_id, time.now);
    return target;
  });
  if (moved === null) return;
  const tell = moved.status === "failed" ? machine.log.warn : machine.log.info;
  tell("deployment_moved", { deployment_id: id, from, to: moved.status, last_error_code: moved.last_error_code });
}

/** The state that a deployment should have; null if it has it. */
async function findTarget(reader: Reader, facts: DeploymentFacts, nowMs: number): Promise<Target | null> {
  const { health, endpoint_withdrawn_at: endpointWithdrawnAt, robot_region: robotRegion, region } = facts;
  const isCompatible = (await findVerdict(reader, facts, facts.requirements)).obstacle === null;
  // Deployments that use a withdrawn endpoint keep it; it accepts no new ones.
  const isOffered = endpointWithdrawnAt === null || robotRegion === region;
  const { status, last_error_code: code } = judge({ ...facts, isCompatible, health: isOffered ? health : null }, nowMs);
  // Without an offer it keeps its region: with the new one, the next run would consider it a user of the withdrawn endpoint.
  const target = { status, last_error_code: code, region: isOffered ? robotRegion : region };
  const isSettled = facts.status === status && facts.last_error_code === code && region === target.region;
  return isSettled ? null : target;
}

/**
 * Splits running usage periods at each full hour (UTC): the part before it is entered in the ledger, and the next period starts there. An
 * outage is one entry. Periods that start in the far future, by a clock that was wrong, start again now.
 */
export function createMeterUsage({ store, newId, machine }: Context): Task {
  return {
    name: "meter-usage",
    intervalMs: 30_000,
    async run(signal) {
      const now = isoNow(machine.clock);
      const cuts: readonly (readonly [began: Began, at: string])[] = [
        // These would end before they start, so nothing is entered.
        [[">", latestBelieved(now)], wholeSecond(now)],
        [["<", wholeHour(now)], wholeHour(now)],
      ];
      for (const [began, at] of cuts) {
        let count = PERIODS_AT_A_TIME;
        while (count === PERIODS_AT_A_TIME && !signal.aborted) {
          count = await store.write((transaction) => cutPeriods(transaction, began, at, () => newId("use")));
        }
      }
    },
  };
}

/** Ends the periods that began then at `at`, where the next ones start. @returns how many, without those that another replica has locked. */
async function cutPeriods(
  transaction: Transaction,
  began: Began,
  at: string,
  newUsageId: () => string,
): Promise<number> {
  const running = await lockPeriods(transaction, began);
  for (const deployment of running) {
    const usageUntil = await closePeriod(transaction, deployment, at);
    const next = { usage_from: at, usage_id: newUsageId(), usage_until: usageUntil };
    await updateDeployment(transaction, deployment, next);
  }
  return running.length;
}
