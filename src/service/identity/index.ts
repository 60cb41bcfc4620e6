/**
 * Identity: computers that speak for robots. A computer without a credential starts an enrolment, somebody approves its code, and it polls
 * until it has an installation with a credential of its own, which it renews. These exports are for the other resources.
 */
export { denyEnrolmentsOf, readKeyEnrolment } from "./enrolments.ts";
export type { KeyEnrolment } from "./enrolments.ts";
export { IDENTITY_SETTINGS, revokeInstallationOf } from "./installations.ts";
export type { IdentitySettings } from "./installations.ts";
export type { Liveness } from "./presence.ts";
export { isRobotOnline, LIVE_COLUMNS, presenceAt, presenceOf, storedOnlineSince } from "./presence.ts";
export type { LiveRow, Presence, PresenceContext } from "./presence.ts";
