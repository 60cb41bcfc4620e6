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
  FLEETS_AT_A_TIME,
  listFleetsToReconcile,
  lockFreeFleet,
  promoteUpdate,
} from "./queries.ts";
import { assessActive, assessUpdate, neededEndpoints } from "./readiness/assessment.ts";
import { updateBlocker } from "./readiness/derive-fleet.ts";
import type { FleetFacts, GenerationFacts } from "./readiness/fleet-facts.ts";

type ReconcileContext = Pick<OperationContext, "store" | "newId" | "machine" | "nudge">;

const NAME = "reconcile-fleets";
/** A run checks blocked updates again and reads all of their members, so it rests ten times as long as it took. */
const REST_RATIO = 10;

/** What is to happen to a fleet's generations. */
export type FleetStep =
  | { readonly step: "none" }
  /** The active generation is ready for the first time. */
  | { readonly step: "activate"; readonly generation: GenerationFacts }
  /** The update is ready and replaces the active generation. */
  | { readonly step: "promote"; readonly generation: GenerationFacts };

/** An update whose endpoints are all healthy comes first: the generation that it replaces no longer matters. */
export function nextFleetStep(facts: FleetFacts, nowMs: number): FleetStep {
  const { active, update } = facts;
  if (update !== null && updateBlocker(facts, update, nowMs) === null) {
    const { isHealthy, isObserved } = assessUpdate(facts, update, nowMs);
    if (isHealthy && isObserved) return { step: "promote", generation: update };
  }
  if (active.activated_at !== null) return { step: "none" };
  const { isHealthy, isObserved } = assessActive(facts, nowMs);
  return isHealthy && isObserved ? { step: "activate", generation: active } : { step: "none" };
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
    if (facts === undefined || nextFleetStep(facts, nowMs).step === "none") return;
    // Created outside the transaction, which may run twice: one id for each endpoint that either generation could need.
    const ids = Array.from({ length: facts.active.endpoints.size + (facts.update?.endpoints.size ?? 0) }, () =>
      newId("prep"),
    );
    const done = await store.write(async (transaction): Promise<FleetStep> => {
      if ((await lockFreeFleet(transaction, key)) === undefined) return { step: "none" };
      const locked = await findFleetFacts(transaction, key.organization_id, key.id);
      if (locked === undefined) return { step: "none" };
      const next = nextFleetStep(locked, nowMs);
      if (next.step === "none") return next;
      const now = isoTime(nowMs);
      if (next.step === "activate") await activateGeneration(transaction, next.generation.id, now);
      else await promoteUpdate(transaction, key.id, { from: locked.active.id, to: next.generation.id }, now);
      await addPreparations(transaction, preparationsOf(locked, next.generation, ids, nowMs));
      return next;
    });
    if (done.step === "none") return;
    machine.log.info("generation_active", {
      fleet_id: key.id,
      generation_id: done.generation.id,
      checkpoint_id: done.generation.checkpoint_id,
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
        if (keys.length < FLEETS_AT_A_TIME) return;
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
  facts: FleetFacts,
  generation: GenerationFacts,
  ids: readonly string[],
  nowMs: number,
): readonly Tables["preparations"][] {
  const isUpdate = generation === facts.update;
  const { able } = isUpdate ? assessUpdate(facts, generation, nowMs) : assessActive(facts, nowMs);
  return [...neededEndpoints(able, generation)].flatMap(([region, { health_since: healthSince }], index) => {
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
        observed_at: isoTime(nowMs),
      },
    ];
  });
}
