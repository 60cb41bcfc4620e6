import { expect, test } from "vitest";

import { statusProblem } from "../../../src/agent/status-problem.ts";
import type { StatusDocument } from "../../../src/agent/status.ts";

/** As much of a status as the remedy depends on. */
function statusOf(state: StatusDocument["state"], reason: string): StatusDocument {
  const failure = { reason, detail: "no", next_attempt_at: "2026-01-31T08:00:00.000Z", validation: [] };
  return { state, failure, summary: "", service: { url: "https://policy.example" } } as unknown as StatusDocument;
}

test.each([
  ["unreachable", "connect", "robot-policy-agent doctor"],
  ["unreachable", "http-503", "tell whoever runs the service"],
  ["unauthorized", "http-401", "a valid key, then: sudo robot-policy-agent set-key"],
  ["unauthorized", "http-403", "scope robots:setup"],
] as const)("statusProblem: %s because of %s: %s", (state, reason, remedy) => {
  expect(statusProblem(statusOf(state, reason))?.fix).toContain(remedy);
});
