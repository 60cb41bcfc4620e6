/**
 * Robots: setup, registrations, history, and the labels that selectors use. These exports are for the other resources.
 */
export {
  addEnrolledRobot,
  changeEnrolledRobot,
  findRobotNamed,
  GENERIC_ROBOT_TYPE_ID,
  lockRobotNamed,
} from "./enrolled-robot.ts";
export type { Enrolled, EnrolledRobot } from "./enrolled-robot.ts";
export { catalogEquipment, contractEquipment, equipmentSchema } from "./equipment.ts";
export { isFromContract, knownEquipment, parseEquipment } from "./equipment.ts";
export type { Axis, Equipment, EquippedCamera } from "./equipment.ts";
export { findReference, markReferences } from "./references.ts";
export type { FoundReference } from "./references.ts";
export type { RobotQuota } from "./quota.ts";
export { findIdentifiedRobot, findIdentifiedRobots, identifiedRobotView } from "./views.ts";
export type { IdentifiedRow } from "./views.ts";
export { findRobot, labelHash, liveRobots, lockRobot, readLabels, ROBOT_NAME_RULE, robotNameOf } from "./robots.ts";
export { contractHashOf } from "./history.ts";
export { parseParts, readContent } from "./parts.ts";
