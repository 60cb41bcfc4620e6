/**
 * This program is newer than this moment, in milliseconds since the Unix epoch: a clock before it is wrong, as after a dead battery.
 * Moves on with each release.
 */
export const RELEASED_AT_MS = Date.parse("2026-11-01T00:00:00Z");
