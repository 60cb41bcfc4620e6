/**
 * Readiness: a prober checks the endpoints of the catalog, a reconciler activates generations of fleets when their endpoints are healthy,
 * and readiness/derive-fleet.ts derives the state of each fleet from both.
 */
import { createHealthProbe } from "./endpoints/probe.ts";
import type { HealthProbe } from "./endpoints/probe.ts";
import { createProber } from "./endpoints/prober.ts";
import { READINESS_TIMES } from "./endpoints/times.ts";
import type { ReadinessTimes } from "./endpoints/times.ts";
import { createReconcileFleets } from "./fleets/tasks.ts";
import type { OperationContext } from "./kernel/operation.ts";
import type { Task } from "./kernel/tasks/task.ts";

/** Dispose of it after the task loop and before the store. */
export interface Readiness extends AsyncDisposable {
  readonly tasks: readonly Task[];
}

export function createReadiness(
  context: Pick<OperationContext, "store" | "newId" | "machine" | "nudge">,
  times: ReadinessTimes = READINESS_TIMES,
  health: HealthProbe = createHealthProbe(times.probeTimeoutMs),
): Readiness {
  const prober = createProber(context, times, health);
  return {
    tasks: [...prober.tasks, createReconcileFleets(context, times.tickMs)],
    [Symbol.asyncDispose]: () => prober[Symbol.asyncDispose](),
  };
}
