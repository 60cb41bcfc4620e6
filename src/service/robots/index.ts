/**
 * Robots: setup, registrations, history, and the labels that selectors use. These exports are for the other resources.
 */
export { catalogEquipment, parseEquipment } from "./equipment.ts";
export type { Axis, Equipment } from "./equipment.ts";
export { pruneRefusals } from "./refusal-queries.ts";
export { labelHash } from "./selection.ts";
