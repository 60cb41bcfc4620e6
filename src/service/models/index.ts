/**
 * The model catalog: its contents, how a file is applied to it, and which robots a checkpoint can drive. These exports are for the other
 * resources.
 */
export { findVerdict, findVerdicts, warningsOf } from "./obstacles.ts";
export { resolveSubject } from "./operations.ts";
