/** What other resources use of installations: the computers that speak for robots, and their credentials. */
export { draftCredential, install, reissue, revokeInstallationOf, termsOf } from "./issue.ts";
export type { Draft } from "./issue.ts";
export { findLiveByKey, isRobotOnline } from "./queries.ts";
export type { Liveness } from "./liveness.ts";
export { LIVE_COLUMNS, presenceAt, presenceOf, storedOnlineSince } from "./presence.ts";
export type { LiveRow, Presence, PresenceContext } from "./presence.ts";
export { IDENTITY_SETTINGS } from "./rules.ts";
export type { IdentitySettings } from "./rules.ts";
