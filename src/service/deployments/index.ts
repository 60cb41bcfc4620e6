/**
 * Deployments: one robot with one checkpoint, from preparation to retirement, and the metering of their usage. These exports are for the
 * other resources.
 */
export { retireDeploymentOf } from "./changes.ts";
export { deploymentView } from "./operations.ts";
export { listCurrentDeployments } from "./queries.ts";
export { momentNow } from "./transition.ts";
