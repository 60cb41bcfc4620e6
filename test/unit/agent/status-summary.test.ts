import { expect, test } from "vitest";

import { summarize, summaryAboveFindings } from "../../../src/agent/status.ts";

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
  ["registered", "Registered as arm-7, but an edit cannot be used"],
  ["invalid", "Not registering"],
  ["stopped", "The agent is not running"],
] as const)("summaryAboveFindings: %s: does not repeat what stands below", (state, expected) => {
  const findings = [FINDING];
  const summary = summarize({ state, robot_name: "arm-7", findings, detail: null });
  expect(summaryAboveFindings({ summary, findings })).toBe(expected);
  expect(summaryAboveFindings({ summary, findings: [] })).toBe(summary);
});
