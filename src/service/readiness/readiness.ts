/**
 * Readiness, observed: a prober asks the endpoints of the catalog how they are, a reconciler moves fleets along when these
 * answers allow it, and derive-fleet.ts tells from both what each fleet is like.
 */
import type { Task } from "../task.ts";
import type { ReadinessContext } from "./context.ts";
import { createHealthProbe } from "./probe.ts";
import type { HealthProbe } from "./probe.ts";
import { createProber } from "./prober.ts";
import { createReconcileFleets } from "./reconcile-fleets.ts";
import { READINESS_TIMES } from "./times.ts";
import type { ReadinessTimes } from "./times.ts";

/** Dispose of it after the loop that runs its tasks, before the store. */
export interface Readiness extends AsyncDisposable {
  readonly tasks: readonly Task[];
}

export function createReadiness(
  context: ReadinessContext,
  times: ReadinessTimes = READINESS_TIMES,
  health: HealthProbe = createHealthProbe(times.probeTimeoutMs),
): Readiness {
  const prober = createProber(context, times, health);
  return {
    tasks: [...prober.tasks, createReconcileFleets(context, times.tickMs)],
    [Symbol.asyncDispose]: () => prober[Symbol.asyncDispose](),
  };
}
