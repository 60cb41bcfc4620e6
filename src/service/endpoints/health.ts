import type { FleetEndpointView } from "../../api/fleet-details.ts";
import { shown } from "../../documents/texts.ts";
import type { EndpointHealth } from "../kernel/store/tables.ts";
import type { EndpointFacts } from "./queries.ts";

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

/** Why the model, which has endpoints in the regions of `endpoints`, cannot serve a robot in `region`; null if it can. */
export function missingEndpoint(region: string, endpoints: { has(region: string): boolean }): string | null {
  return endpoints.has(region) ? null : `has no endpoint in the robot's region ${shown(region)}`;
}

/** What a robot waits for if its endpoint is not known to be healthy; null if it is healthy or does not exist. */
export function endpointWait(region: string, endpoint: EndpointFacts | undefined): string | null {
  if (endpoint === undefined || endpoint.health === "healthy") return null;
  const which = `The endpoint in ${shown(region)}`;
  if (endpoint.last_probed_at === null) return `${which} has not been probed yet.`;
  if (endpoint.health === "unknown" || endpoint.health_since === null) {
    return `${which} is not known to be healthy yet${causeOf(endpoint)}.`;
  }
  return `${unhealthySince(which, endpoint)}.`;
}

/** @param which the endpoint, as the subject of the sentence. */
export function unhealthySince(which: string, endpoint: EndpointFacts): string {
  const since = endpoint.health_since === null ? "is unhealthy" : `has been unhealthy since ${endpoint.health_since}`;
  return `${which} ${since}${causeOf(endpoint)}`;
}

function causeOf({ last_error: lastError }: EndpointFacts): string {
  return lastError === null ? "" : `: ${lastError}`;
}

/** The health of an endpoint, in the words of the contract. */
export const ENDPOINT_STATUS = {
  healthy: "healthy",
  failing: "unhealthy",
  unknown: "unknown",
} as const satisfies Readonly<Record<EndpointHealth, FleetEndpointView["status"]>>;
