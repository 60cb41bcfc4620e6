import type { EndpointHealth } from "../kernel/store/tables.ts";

/** The assumed health of an endpoint, and how many probes in a row contradicted it. */
export interface Belief {
  readonly health: EndpointHealth;
  readonly contrary_probes: number;
}

/** Consecutive probes that change the assumed health: one lost probe must not make a fleet flap. */
export const FAILURES_TO_FAILING = 3;
export const SUCCESSES_TO_HEALTHY = 2;

/** The assumed health after one more probe. From unknown, the first success is enough. */
export function believe({ health, contrary_probes: contraryProbes }: Belief, isSuccess: boolean): Belief {
  const contrary = contraryProbes + 1;
  if (health === "failing") {
    if (!isSuccess) return settled("failing");
    return contrary >= SUCCESSES_TO_HEALTHY ? settled("healthy") : { health, contrary_probes: contrary };
  }
  if (isSuccess) return settled("healthy");
  return contrary >= FAILURES_TO_FAILING ? settled("failing") : { health, contrary_probes: contrary };
}

function settled(health: EndpointHealth): Belief {
  return { health, contrary_probes: 0 };
}
