/**
 * Deployments: one robot with one checkpoint, from preparation to retirement, and the metering of their usage. These exports are for the
 * other resources.
 */
export { deploymentView, retireDeploymentOf } from "./operations.ts";
export { listCurrentDeployments } from "./queries.ts";
export { changeTimeNow } from "./transition.ts";
