/**
 * Milliseconds since the Unix epoch, before the release of this program: an earlier clock is wrong, as after a dead battery. Updated with
 * each release.
 */
export const RELEASED_AT_MS = Date.parse("2026-11-01T00:00:00Z");
