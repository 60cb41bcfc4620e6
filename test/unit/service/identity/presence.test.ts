import { expect, it } from "vitest";

import { presenceOf } from "../../../../src/service/identity/presence.ts";

const SINCE = "2026-06-01T12:00:00.000Z";
const BEFORE = "2026-06-01T11:59:59.999Z";
const LATER = "2026-06-01T12:00:01.000Z";

const ACTIVE = {
  installation_id: "rinst_1",
  installation_state: "active",
  last_seen_at: LATER,
  readiness: "not_ready",
  reason: "a file is missing",
} as const;
const NOTHING_NOTED = { seen: () => undefined, onlineSince: SINCE };

it.each([
  ["it cannot register", ACTIVE, "online", "not_ready", "a file is missing"],
  ["it could not, and is offline", { ...ACTIVE, last_seen_at: BEFORE }, "offline", "offline", null],
  [
    "no computer is enrolled",
    { installation_id: null, installation_state: null, last_seen_at: null, readiness: null, reason: null },
    "offline",
    "not_monitored",
    null,
  ],
] as const)("presenceOf: %s", (_title, row, status, presence, reason) => {
  const known = { status, presence, last_seen_at: row.last_seen_at, not_ready_reason: reason };
  expect(presenceOf(row, NOTHING_NOTED)).toEqual(known);
});

it.each([
  ["the store has none, this replica neither", null, undefined, "offline", null],
  ["only this replica has one", null, LATER, "online", LATER],
  ["only the store has one", LATER, undefined, "online", LATER],
  ["this replica has the later one", BEFORE, LATER, "online", LATER],
  ["the last one is at the limit", SINCE, undefined, "online", SINCE],
  ["the last one is too old", BEFORE, undefined, "offline", BEFORE],
] as const)("presenceOf: %s", (_title, stored, noted, status, lastSeen) => {
  const row = { ...ACTIVE, readiness: "ready", reason: null, last_seen_at: stored } as const;
  const seen = () =>
    noted === undefined
      ? undefined
      : {
          at: noted,
          readiness: "ready" as const,
          reason: null,
          runtimeVersion: null,
          manifestDigest: null,
          address: "192.0.2.1",
        };
  const presence = { seen, onlineSince: SINCE };
  const expected = { status, presence: status, last_seen_at: lastSeen, not_ready_reason: null };
  expect(presenceOf(row, presence)).toEqual(expected);
  expect(presenceOf({ ...row, installation_state: "frozen" }, presence).status).toBe("offline");
});
