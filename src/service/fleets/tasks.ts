import { isoTime } from "../../platform/clock.ts";
import { addPreparations, PREPARATION_MAXIMUM_S } from "../endpoints/index.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { createFailingItems } from "../kernel/tasks/failing-items.ts";
import type { Task } from "../kernel/tasks/task.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import {
  activateGeneration,
  findFleetFacts,
  type FleetKey,
  KEYS_AT_A_TIME,
  listFleetsToReconcile,
  lockFreeFleet,
  promoteUpdate,
} from "./queries.ts";
import { type AssessedFleet, assessFleet, type Assessment } from "./readiness/assessment.ts";

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
    // Created outside the transaction, which may run twice: one id for each endpoint that either generation could need.
    const ids = Array.from({ length: facts.active.endpoints.size + (facts.update?.endpoints.size ?? 0) }, () =>
      newId("prep"),
    );
    const done = await store.write(async (transaction): Promise<FleetStep> => {
      if ((await lockFreeFleet(transaction, key)) === undefined) return { step: "none" };
      const locked = await findFleetFacts(transaction, key.organization_id, key.id);
      if (locked === undefined) return { step: "none" };
      const next = nextFleetStep(assessFleet(locked, nowMs));
      if (next.step === "none") return next;
      const now = isoTime(nowMs);
      const { id } = next.assessment.generation;
      if (next.step === "activate") await activateGeneration(transaction, id, now);
      else await promoteUpdate(transaction, key.id, { from: locked.active.id, to: id }, now);
      await addPreparations(transaction, preparationsOf(next.assessment, ids, now));
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

/**
 * Preparation times of the endpoints that became healthy after the generation was created. Endpoints that already were healthy or
 * that took longer than `PREPARATION_MAXIMUM_S` are left out.
 */
function preparationsOf(
  { generation, endpoints }: Assessment,
  ids: readonly string[],
  now: string,
): readonly Tables["preparations"][] {
  return [...endpoints].flatMap(([region, { health_since: healthSince }], index) => {
    const id = ids[index];
    const tookMs = Date.parse(healthSince ?? generation.created_at) - Date.parse(generation.created_at);
    const seconds = Math.ceil(tookMs / 1000);
    if (id === undefined || seconds <= 0 || seconds > PREPARATION_MAXIMUM_S) return [];
    return [
      {
        id,
        model_slug: generation.model_slug,
        checkpoint_id: generation.checkpoint_id,
        region,
        seconds,
        observed_at: now,
      },
    ];
  });
}
