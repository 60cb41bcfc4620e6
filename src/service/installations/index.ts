/** What other resources use of installations: the computers that speak for robots, and their credentials. */
export { draftCredential, termsOf } from "./credentials.ts";
export type { Draft } from "./credentials.ts";
export { findLiveByKey, IDENTITY_SETTINGS, install, reissue, revokeInstallationOf } from "./installations.ts";
export type { IdentitySettings } from "./installations.ts";
export type { Liveness } from "./liveness.ts";
export { isRobotOnline, LIVE_COLUMNS, presenceAt, presenceOf, storedOnlineSince } from "./presence.ts";
export type { LiveRow, Presence, PresenceContext } from "./presence.ts";
