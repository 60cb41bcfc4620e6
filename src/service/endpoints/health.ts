import type { EndpointHealth } from "../kernel/store/tables.ts";

/** What is believed of an endpoint, and how many probes in a row said otherwise. */
export interface Belief {
  readonly health: EndpointHealth;
  readonly contrary_probes: number;
}

/** Probes in a row that it takes to change a belief: one that is lost must not flap a fleet. */
export const FAILURES_TO_FAILING = 3;
export const SUCCESSES_TO_HEALTHY = 2;

/** What is to be believed after one more probe. Where nothing is known yet, the first success is enough. */
export function believe({ health, contrary_probes: contraryProbes }: Belief, isSuccess: boolean): Belief {
  const contrary = contraryProbes + 1;
  switch (health) {
    case "unknown":
      if (isSuccess) return settled("healthy");
      return contrary >= FAILURES_TO_FAILING ? settled("failing") : { health, contrary_probes: contrary };
    case "healthy":
      if (isSuccess) return settled("healthy");
      return contrary >= FAILURES_TO_FAILING ? settled("failing") : { health, contrary_probes: contrary };
    case "failing":
      if (!isSuccess) return settled("failing");
      return contrary >= SUCCESSES_TO_HEALTHY ? settled("healthy") : { health, contrary_probes: contrary };
  }
}

function settled(health: EndpointHealth): Belief {
  return { health, contrary_probes: 0 };
}
