import type { FleetEndpointView } from "../../api/fleet-details.ts";
import { shown } from "../../manifest/shown.ts";
import type { EndpointHealth } from "../kernel/store/tables.ts";
import type { EndpointFacts } from "./facts.ts";

/** What a robot in `region` lacks where the model answers in those of `endpoints`; null where it lacks nothing. */
export function endpointLack(region: string, endpoints: { has(region: string): boolean }): string | null {
  return endpoints.has(region) ? null : `has no endpoint in the robot's region ${shown(region)}`;
}

/** What a robot waits for whose endpoint is not known to be healthy; null where it is, and where there is no endpoint. */
export function endpointWait(region: string, endpoint: EndpointFacts | undefined): string | null {
  if (endpoint === undefined || endpoint.health === "healthy") return null;
  const which = `The endpoint in ${shown(region)}`;
  if (endpoint.last_probed_at === null) return `${which} has not been looked at yet.`;
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

/** What probes say of an endpoint, in the words of the contract. */
export const ENDPOINT_STATUS = {
  healthy: "healthy",
  failing: "unhealthy",
  unknown: "unknown",
} as const satisfies Readonly<Record<EndpointHealth, FleetEndpointView["status"]>>;
