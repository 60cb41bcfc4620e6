import { isoTime } from "../../platform/clock.ts";
import { addPreparations, PREPARATION_MAXIMUM_S } from "../endpoints/index.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { createFailingItems, type Task } from "../kernel/tasks/task-loop.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { findFleetFacts, type FleetKey, lockFreeFleet, supersede } from "./queries.ts";
import { type AssessedFleet, assessFleet, type Assessment } from "./readiness/assessment.ts";
import type { FleetFacts } from "./readiness/fleet-facts.ts";

type ReconcileContext = Pick<OperationContext, "store" | "newId" | "machine" | "nudge">;

const NAME = "reconcile-fleets";
/** A run checks blocked updates again and reads all of their members, so it rests ten times as long as it took. */
const REST_RATIO = 10;

/** What is to happen to a fleet's generations. */
export type FleetStep =
  | { readonly step: "none" }
  /** The active generation is ready for the first time, or the update is ready and replaces the active one. */
  | { readonly step: "activate" | "promote"; readonly assessment: Assessment };

/** An update whose endpoints are all healthy comes first: the generation that it replaces no longer matters. */
export function nextFleetStep({ active, update }: AssessedFleet): FleetStep {
  if (update !== null && update.blocker === null && isPrepared(update)) return { step: "promote", assessment: update };
  if (active.generation.activated_at !== null || !isPrepared(active)) return { step: "none" };
  return { step: "activate", assessment: active };
}

function isPrepared({ isHealthy, isObserved }: Assessment): boolean {
  return isHealthy && isObserved;
}

/**
 * Activates generations whose endpoints are all healthy, and records how long the preparation took.
 *
 * Each fleet with a pending step gets a transaction of its own with its row locked, so that only one of several replicas takes the
 * step. A fleet that fails is left as it is, and the others continue.
 */
export function createReconcileFleets({ store, machine, newId, nudge }: ReconcileContext, intervalMs: number): Task {
  const failing = createFailingItems(NAME, machine.log);

  async function reconcile(key: FleetKey): Promise<void> {
    const facts = await findFleetFacts(store.reader, key.organization_id, key.id);
    const nowMs = machine.clock.wallMs();
    if (facts === undefined || nextFleetStep(assessFleet(facts, nowMs)).step === "none") return;
    const done = await store.write(async (transaction): Promise<FleetStep> => {
      if ((await lockFreeFleet(transaction, key)) === undefined) return { step: "none" };
      const locked = await findFleetFacts(transaction, key.organization_id, key.id);
      if (locked === undefined) return { step: "none" };
      const next = nextFleetStep(assessFleet(locked, nowMs));
      if (next.step === "none") return next;
      const now = isoTime(nowMs);
      await activate(transaction, locked, next.assessment.generation.id, now);
      await addPreparations(
        transaction,
        preparationsOf(next.assessment, () => newId("prep"), now),
      );
      return next;
    });
    if (done.step === "none") return;
    machine.log.info("generation_active", {
      fleet_id: key.id,
      generation_id: done.assessment.generation.id,
      checkpoint_id: done.assessment.generation.checkpoint_id,
    });
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

/** Generations of a locked fleet: the active one is ready for the first time, or the update replaces it. */
async function activate(transaction: Transaction, fleet: FleetFacts, generationId: string, now: string): Promise<void> {
  await transaction
    .updateTable("generations")
    .set({ activated_at: now })
    .where("id", "=", generationId)
    .where("activated_at", "is", null)
    .execute();
  if (generationId === fleet.active.id) return;
  await supersede(transaction, fleet.active.id, now);
  await transaction
    .updateTable("fleets")
    .set({ generation_id: generationId, update_generation_id: null })
    .where("id", "=", fleet.id)
    .execute();
}

/** Keys of fleets per query. */
const KEYS_AT_A_TIME = 100;

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
  return [...endpoints].flatMap(([region, { health_since: healthSince }]) => {
    const tookMs = Date.parse(healthSince ?? generation.created_at) - Date.parse(generation.created_at);
    const seconds = Math.ceil(tookMs / 1000);
    if (seconds <= 0 || seconds > PREPARATION_MAXIMUM_S) return [];
    return [
      {
        id: newPreparationId(),
        model_slug: generation.model_slug,
        checkpoint_id: generation.checkpoint_id,
        region,
        seconds,
        observed_at: now,
      },
    ];
  });
}
