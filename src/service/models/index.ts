/**
 * The model catalog: what it holds, how a file is applied to it, and which robots a checkpoint can drive. Other resources use what is listed here.
 */
export { findObstacle, findObstacles } from "./obstacles.ts";
export { listModels, resolveSubject } from "./queries.ts";
export type { Subject } from "./queries.ts";
