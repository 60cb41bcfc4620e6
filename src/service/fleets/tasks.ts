import { isoTime } from "../../platform/clock.ts";
import { addPreparations, PREPARATION_MAXIMUM_S } from "../endpoints/index.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { createFailingItems, type Task } from "../kernel/tasks/task-loop.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { findFleetFacts, type FleetKey, lockFleet, supersede } from "./queries.ts";
import { type AssessedFleet, assessFleet, type Assessment } from "./readiness/assessment.ts";

type ReconcileContext = Pick<OperationContext, "store" | "newId" | "machine" | "nudge">;

const NAME = "reconcile-fleets";
/** A run checks blocked updates again and reads all of their members, so it rests ten times as long as it took. */
const REST_RATIO = 10;
/** Keys of fleets per query. */
const KEYS_AT_A_TIME = 100;

/**
 * The generation of a fleet that becomes active now: the update that is ready, or the first one; null if none does. An update comes first:
 * the generation that it replaces no longer matters.
 */
export function nextActive({ active, update }: AssessedFleet): Assessment | null {
  if (update !== null && update.blocker === null && isPrepared(update)) return update;
  return active.generation.activated_at === null && isPrepared(active) ? active : null;
}

function isPrepared({ isHealthy, isObserved }: Assessment): boolean {
  return isHealthy && isObserved;
}

/**
 * Activates generations whose endpoints are all healthy, and records how long the preparation took.
 *
 * Each fleet gets a transaction of its own that checks again with its row locked, so that only one of several replicas activates. A fleet
 * that fails is left as it is, and the others continue.
 */
export function createReconcileFleets({ store, machine, newId, nudge }: ReconcileContext, intervalMs: number): Task {
  const failing = createFailingItems(NAME, machine.log);

  async function reconcile(key: FleetKey): Promise<void> {
    const nowMs = machine.clock.wallMs();
    const next = async (reader: Reader) => {
      const facts = await findFleetFacts(reader, key.organization_id, key.id);
      return facts === undefined ? null : nextActive(assessFleet(facts, nowMs));
    };
    if ((await next(store.reader)) === null) return;
    const activated = await store.write(async (transaction) => {
      const fleet = await lockFleet(transaction, key);
      const assessment = await next(transaction);
      if (fleet === undefined || assessment === null) return null;
      const now = isoTime(nowMs);
      await activate(transaction, fleet, assessment.generation.id, now);
      await addPreparations(
        transaction,
        preparationsOf(assessment, () => newId("prep"), now),
      );
      return assessment.generation;
    });
    if (activated === null) return;
    const { id: generationId, checkpoint_id: checkpointId } = activated;
    const activation = { fleet_id: key.id, generation_id: generationId, checkpoint_id: checkpointId };
    machine.log.info("generation_active", activation);
    nudge();
  }

  return {
    name: NAME,
    intervalMs,
    restRatio: REST_RATIO,
    async run(signal) {
      let after: string | null = null;
      while (!signal.aborted) {
        const keys: readonly FleetKey[] = await listFleetsToReconcile(store.reader, after);
        for (const key of keys) {
          await yieldEventLoop();
          if (!signal.aborted) await failing.attempt(key.id, () => reconcile(key));
        }
        if (keys.length < KEYS_AT_A_TIME) return;
        after = keys.at(-1)?.id ?? null;
      }
    },
  };
}

/** Makes a generation of a locked fleet the active one, in place of the one before it if it is an update. */
async function activate(
  transaction: Transaction,
  { id, generation_id: activeId }: Tables["fleets"],
  generationId: string,
  now: string,
): Promise<void> {
  await transaction
    .updateTable("generations")
    .set({ activated_at: now })
    .where("id", "=", generationId)
    .where("activated_at", "is", null)
    .execute();
  if (generationId === activeId) return;
  await supersede(transaction, activeId, now);
  await transaction
    .updateTable("fleets")
    .set({ generation_id: generationId, update_generation_id: null })
    .where("id", "=", id)
    .execute();
}

/**
 * Fleets with a generation that may be ready to become active: it is not active, and an endpoint of its checkpoint is healthy.
 *
 * @param after id of the last fleet of the batch before; null for the first.
 */
function listFleetsToReconcile(reader: Reader, after: string | null): Promise<readonly FleetKey[]> {
  return reader
    .selectFrom("generations")
    .innerJoin("endpoints", "endpoints.checkpoint_id", "generations.checkpoint_id")
    .innerJoin("fleets", "fleets.id", "generations.fleet_id")
    .select(["fleets.id", "fleets.organization_id"])
    .distinct()
    .where("generations.activated_at", "is", null)
    .where("generations.superseded_at", "is", null)
    .where("endpoints.health", "=", "healthy")
    .where("generations.fleet_id", ">", after ?? "")
    .orderBy("fleets.id")
    .limit(KEYS_AT_A_TIME)
    .execute();
}

/**
 * Preparation times of the endpoints that became healthy after the generation was created. Endpoints that already were healthy or
 * that took longer than `PREPARATION_MAXIMUM_S` are left out.
 */
function preparationsOf(
  { generation, endpoints }: Assessment,
  newPreparationId: () => string,
  now: string,
): readonly Tables["preparations"][] {
  const { model_slug, checkpoint_id, created_at: createdAt } = generation;
  return [...endpoints].flatMap(([region, { health_since: healthSince }]) => {
    const seconds = Math.ceil((Date.parse(healthSince ?? createdAt) - Date.parse(createdAt)) / 1000);
    if (seconds <= 0 || seconds > PREPARATION_MAXIMUM_S) return [];
    return [{ id: newPreparationId(), model_slug, checkpoint_id, region, seconds, observed_at: now }];
  });
}
