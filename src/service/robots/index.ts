/**
 * Robots: setting them up, their registrations and history, and which robots a selection means. Other resources use what is listed here.
 */
export { catalogEquipment, parseEquipment } from "./equipment.ts";
export type { Axis, Equipment } from "./equipment.ts";
export { pruneRefusals } from "./refusal-queries.ts";
export { labelHash } from "./selection.ts";
