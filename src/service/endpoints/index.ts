/**
 * Inference endpoints: where checkpoints are served, their health, and how long they take to become healthy. These exports are for the other
 * resources.
 */
export { addPreparations, loadPreparations, PREPARATION_MAXIMUM_S, preparationRange } from "./preparations.ts";
export { bringProbesForward } from "./queries.ts";
export type { EndpointFacts } from "./queries.ts";
export { ENDPOINT_STATUS, missingEndpoint, endpointWait, unhealthySince } from "./health.ts";
