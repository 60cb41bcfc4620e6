import { expect, test } from "vitest";

import { exitCodeOf, STATES, statusProblem, summaryAboveFindings } from "../../../src/agent/states.ts";
import type { StatusDocument } from "../../../src/agent/status.ts";
import { EXIT } from "../../../src/platform/terminal.ts";

/** The parts of a status that the remedy depends on. */
function statusOf(state: StatusDocument["state"], reason: string): StatusDocument {
  const failure = { reason, detail: "no", next_attempt_at: "2026-01-31T08:00:00.000Z", validation: [] };
  return {
    state,
    failure,
    hanging: null,
    summary: "",
    service: { url: "https://policy.example" },
  } as unknown as StatusDocument;
}

test.each([
  ["unreachable", "connect", "robot-policy-agent doctor"],
  ["unreachable", "http-503", "tell the operator of the service"],
  ["unreachable", "http-511", "robot-policy-agent doctor"],
  ["unauthorized", "http-401", "a valid key, then: sudo robot-policy-agent set-key"],
  ["unauthorized", "key-exposed", "at once: sudo robot-policy-agent --setup"],
  ["unauthorized", "not-enrolled", "once it is enrolled: sudo robot-policy-agent --setup"],
  ["unauthorized", "http-403", "scope robots:setup"],
] as const)("statusProblem: %s because of %s: %s", (state, reason, remedy) => {
  expect(statusProblem(statusOf(state, reason))?.fix).toContain(remedy);
});

test.each([
  ["starting", EXIT.failed, "disk-hangs"],
  ["registered", EXIT.failed, "disk-hangs"],
  ["unreachable", EXIT.unreachable, "service-unreachable"],
] as const)("a disk that hangs: %s → exit %i, and %s says what to do", (state, code, problem) => {
  const status = { ...statusOf(state, "connect"), healthy: false, hanging: "/drive/arm.yaml" };
  expect(exitCodeOf(status)).toBe(code);
  expect(statusProblem(status)?.code).toBe(problem);
});

const FINDING = {
  id: "syntax",
  severity: "error",
  loc: "",
  message: "no: such thing",
  file: "/etc/a.yaml",
  line: 2,
  column: 3,
} as const;

test.each([
  ["registered", "Registered as arm-7, but an edit is invalid"],
  ["invalid", "Not registering"],
  ["stopped", "The agent is not running"],
] as const)("summaryAboveFindings: %s: does not repeat what stands below", (state, expected) => {
  const findings = [FINDING];
  const summary = STATES[state].summary({ robotName: "arm-7", findings, detail: null, identity: null });
  expect(summaryAboveFindings({ summary, findings })).toBe(expected);
  expect(summaryAboveFindings({ summary, findings: [] })).toBe(summary);
});
