import { describe, expect, it } from "vitest";

import type { Situation, Verdict } from "../../../src/service/deployments/judge.ts";
import { judge, PREPARATION_TIMEOUT_MS } from "../../../src/service/deployments/judge.ts";

const CREATED = "2026-03-01T12:00:00.000Z";
const CREATED_MS = Date.parse(CREATED);
const LATER = "2026-03-01T12:01:00.000Z";

const fresh: Situation = {
  status: "preparing",
  created_at: CREATED,
  activated_at: null,
  is_compatible: true,
  health: "unknown",
};
const running: Situation = { ...fresh, status: "active", activated_at: LATER, health: "healthy" };

const preparing: Verdict = { status: "preparing", last_error_code: null };
const active: Verdict = { status: "active", last_error_code: null };
const failed = (last_error_code: Verdict["last_error_code"]): Verdict => ({ status: "failed", last_error_code });

describe("judge", () => {
  it.each<[what: string, situation: Situation, age_ms: number, verdict: Verdict]>([
    ["new, nobody has looked at the endpoint", fresh, 0, preparing],
    ["new, the endpoint is healthy", { ...fresh, health: "healthy" }, 0, active],
    ["new, the endpoint does not answer yet", { ...fresh, health: "failing" }, 60_000, preparing],
    ["a moment before its time is up", fresh, PREPARATION_TIMEOUT_MS - 1, preparing],
    ["its time is up", { ...fresh, health: "failing" }, PREPARATION_TIMEOUT_MS, failed("preparation_timeout")],
    ["its time is up, nobody ever looked", fresh, PREPARATION_TIMEOUT_MS, failed("preparation_timeout")],
    [
      "healthy after its time was up",
      { ...fresh, status: "failed", health: "healthy" },
      PREPARATION_TIMEOUT_MS * 9,
      active,
    ],
    ["the clock went back behind its beginning", fresh, -3_600_000, preparing],
    ["active and healthy, for ever", running, PREPARATION_TIMEOUT_MS * 1000, active],
    [
      "active, the endpoint fails",
      { ...running, health: "failing" },
      PREPARATION_TIMEOUT_MS * 2,
      failed("endpoint_failing"),
    ],
    [
      "failed, the endpoint still fails",
      { ...running, status: "failed", health: "failing" },
      0,
      failed("endpoint_failing"),
    ],
    ["failed, the endpoint is back", { ...running, status: "failed" }, PREPARATION_TIMEOUT_MS * 2, active],
    ["active, the endpoint's address changed", { ...running, health: "unknown" }, PREPARATION_TIMEOUT_MS * 2, active],
    [
      "failed, the endpoint's address changed",
      { ...running, status: "failed", health: "unknown" },
      PREPARATION_TIMEOUT_MS * 2,
      preparing,
    ],
    ["the robot cannot run it any more", { ...running, is_compatible: false }, 0, failed("robot_incompatible")],
    [
      "the robot moved to where there is no endpoint",
      { ...running, health: null },
      PREPARATION_TIMEOUT_MS * 2,
      failed("no_endpoint_in_region"),
    ],
    [
      "neither robot nor endpoint will do: the robot first",
      { ...fresh, is_compatible: false, health: null },
      0,
      failed("robot_incompatible"),
    ],
  ])("%s", (_what, situation, age_ms, verdict) => {
    expect(judge(situation, CREATED_MS + age_ms)).toEqual(verdict);
  });
});
