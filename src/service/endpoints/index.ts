/**
 * Inference endpoints: where checkpoints are served, whether they are healthy, and how long they take to become so. Other resources use what is
 * listed here.
 */
export { preparationRange } from "./estimate.ts";
export type { EndpointFacts } from "./facts.ts";
export { addPreparations, loadPreparations, PREPARATION_MAXIMUM_S } from "./preparations.ts";
export { bringProbesForward } from "./queries.ts";
export { ENDPOINT_STATUS, endpointLack, endpointWait, unhealthySince } from "./words.ts";
