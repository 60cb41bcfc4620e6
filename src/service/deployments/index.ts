/**
 * Deployments: one robot with one checkpoint, from preparation to retirement, and the metering of what runs. Other resources use what is listed here.
 */
export { deploymentView } from "./operations.ts";
export { listCurrentDeployments } from "./queries.ts";
