import { bringProbesForward } from "../endpoints/index.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import { createFailingItems, type FailingItems, type Task } from "../kernel/tasks/task-loop.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { findObstacle } from "../models/index.ts";
import type { OperationContext } from "../kernel/operation.ts";
import {
  type DeploymentFacts,
  DEPLOYMENTS_AT_A_TIME,
  findDeploymentFacts,
  listDeploymentFacts,
  lockDeployment,
} from "./queries.ts";
import { judge, type Moment, momentNow, moveDeployment, type Target } from "./transition.ts";

/** Concurrent moves: they share commits, and requests get their turn in between. */
const MOVES_MAXIMUM = 64;
const NAME = "reconcile-deployments";
const INTERVAL_MS = 2000;
/** Pause after a run, as a multiple of its duration, which is long with very many deployments. */
const REST_RATIO = 10;

/**
 * Moves current deployments to the state that they should have: active if their endpoint is healthy; failed if it is not, or if the robot
 * registered with properties that the model cannot drive.
 *
 * Each is moved in a transaction of its own that checks again with the row locked, so that replicas may run concurrently. A
 * deployment that fails is left as it is, and the others continue.
 */
export function createReconcileDeployments(context: Context): Task {
  const { log } = context.machine;
  const failing: Failing = { judged: createFailingItems(NAME, log), moved: createFailingItems(NAME, log) };
  return {
    name: NAME,
    intervalMs: INTERVAL_MS,
    restRatio: REST_RATIO,
    run: (signal) => sweep(context, failing, signal),
  };
}

type Context = Pick<OperationContext, "store" | "newId" | "machine">;

/** Deployments that could not be judged, and those that could not be moved. */
interface Failing {
  readonly judged: FailingItems;
  readonly moved: FailingItems;
}

async function sweep(context: Context, failing: Failing, signal: AbortSignal): Promise<void> {
  const { store } = context;
  const { clock } = context.machine;
  for (let after = ""; !signal.aborted;) {
    await yieldEventLoop();
    const batch = await listDeploymentFacts(store.reader, after);
    const due: DeploymentFacts[] = [];
    for (const facts of batch) {
      await failing.judged.attempt(facts.id, async () => {
        const target = targetOf(facts, await isCompatible(store.reader, facts), clock.wallMs());
        if (!isSettled(facts, target)) due.push(facts);
      });
    }
    for (let start = 0; start < due.length && !signal.aborted; start += MOVES_MAXIMUM) {
      await Promise.all(
        due.slice(start, start + MOVES_MAXIMUM).map((one) => failing.moved.attempt(one.id, () => move(context, one))),
      );
    }
    const last = batch.at(-1);
    if (last === undefined || batch.length < DEPLOYMENTS_AT_A_TIME) break;
    after = last.id;
  }
}

async function move(context: Context, facts: DeploymentFacts): Promise<void> {
  const { store, machine } = context;
  const { log } = machine;
  const moment = momentNow(context);
  const moved = await store.write((transaction) => reconcile(transaction, facts, moment));
  if (moved === null) return;
  const tell = moved.to === "failed" ? log.warn : log.info;
  tell("deployment_moved", { deployment_id: facts.id, from: facts.status, ...moved });
}

async function isCompatible(reader: Reader, facts: DeploymentFacts): Promise<boolean> {
  return (await findObstacle(reader, facts, facts.requirements)) === null;
}

/** @returns the new state, or null if it has it already or was retired. */
async function reconcile(
  transaction: Transaction,
  { organization_id: organizationId, id }: DeploymentFacts,
  moment: Moment,
): Promise<{ readonly to: string; readonly last_error_code: string | null } | null> {
  const deployment = await lockDeployment(transaction, organizationId, id);
  const facts = deployment === undefined ? undefined : await findDeploymentFacts(transaction, id);
  if (deployment === undefined || facts === undefined) return null;
  const target = targetOf(facts, await isCompatible(transaction, facts), Date.parse(moment.now));
  if (isSettled(facts, target)) return null;
  await moveDeployment(transaction, deployment, target, moment);
  if (target.status === "preparing") await bringProbesForward(transaction, facts.checkpoint_id, moment.now);
  return { to: target.status, last_error_code: target.last_error_code };
}

function targetOf(facts: DeploymentFacts, fits: boolean, nowMs: number): Target {
  const { health, endpoint_withdrawn_at: endpointWithdrawnAt, robot_region: robotRegion, region } = facts;
  // Deployments that use a withdrawn endpoint keep it; it accepts no new ones.
  const isOffered = endpointWithdrawnAt === null || robotRegion === region;
  const verdict = judge({ ...facts, isCompatible: fits, health: isOffered ? health : null }, nowMs);
  // Without an offer it keeps its region: with the new one, the next run would consider it a user of the withdrawn endpoint.
  return { ...verdict, region: isOffered ? robotRegion : region };
}

function isSettled(facts: DeploymentFacts, { status, last_error_code: lastErrorCode, region }: Target): boolean {
  return facts.status === status && facts.last_error_code === lastErrorCode && facts.region === region;
}
