import { describe, expect, it } from "vitest";

import { judgeRecovery } from "../../../../src/service/identity/robot-credentials.ts";

describe("judgeRecovery", () => {
  const EXPIRES = "2026-01-02T00:00:00.000Z";
  const UNTIL = "2026-04-02T00:00:00.000Z";
  const judge = (remaining: number, now: string) =>
    judgeRecovery({ credential_expires_at: EXPIRES, recoveries_remaining: remaining, recovery_until: UNTIL }, now, {
      recoveries: 5,
    });

  it.each([
    ["in time restores the standard", 0, "2026-01-01T23:59:59.999Z", { isRecovered: false, remaining: 5 }],
    ["in time keeps the operator's value", 20, "2026-01-01T00:00:00.000Z", { isRecovered: false, remaining: 20 }],
    ["at the expiry takes one", 5, EXPIRES, { isRecovered: true, remaining: 4 }],
    ["at the end of the window takes the last", 1, UNTIL, { isRecovered: true, remaining: 0 }],
  ])("%s", (_title, remaining, now, outcome) => {
    expect(judge(remaining, now)).toEqual({ state: "allowed", ...outcome });
  });

  it.each([
    ["after the window", 5, "2026-04-02T00:00:00.001Z", "window-over"],
    ["without recoveries left", 0, EXPIRES, "budget-spent"],
    ["after the window and without recoveries", 0, "2027-01-01T00:00:00.000Z", "window-over"],
  ])("%s → refused", (_title, remaining, now, state) => {
    expect(judge(remaining, now)).toEqual({ state });
  });
});
