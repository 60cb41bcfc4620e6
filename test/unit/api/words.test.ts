import { expect, test } from "vitest";

import { enrolmentViewSchema } from "../../../src/api/enrolments.ts";
import type { PreviewedRobot } from "../../../src/api/fleet-details.ts";
import { contestInWords } from "../../../src/api/words/audit.ts";
import { failureOf } from "../../../src/api/words/deployment-failures.ts";
import { enrolmentDifferences } from "../../../src/api/words/enrolments.ts";
import { fitCounts, fitGroups } from "../../../src/api/words/fit-groups.ts";
import { memberStateInWords } from "../../../src/api/words/fleets.ts";
import { axesInWords } from "../../../src/api/words/requirements.ts";

const AT = "2026-01-01T00:00:00Z";

const line = { address: "192.0.2.1", actor: { id: "key_1", label: "line 4" } };
const unnamed = { address: "192.0.2.2", actor: { id: "key_2", label: null } };
test.each([
  [null, [line, unnamed], null],
  [
    AT,
    [line],
    {
      what: "its registration alternates between two contents",
      from: "192.0.2.1 (line 4)",
      remedy: "if two computers there have this name, give each its own name",
    },
  ],
  [
    AT,
    [line, unnamed],
    {
      what: "2 computers register this name in turn",
      from: "192.0.2.1 (line 4) and 192.0.2.2 (key_2)",
      remedy: "give each computer its own name",
    },
  ],
])("contestInWords: case %#", (since, from, words) => {
  expect(contestInWords({ contested_since: since, contested_from: from })).toEqual(words);
});

test.each([
  ["preparation_timeout", "Its endpoint was not healthy in time."],
  ["robot_on_fire", "robot_on_fire."],
  [null, undefined],
  [undefined, undefined],
  ["", undefined],
])("failureOf: %j → %j", (code, what) => {
  expect(failureOf({ id: "dep_1", status: "failed", last_error_code: code })?.what).toBe(what);
});

test("enrolmentDifferences: labels in another order → none; another label → both lists in one order", () => {
  const digest = `sha256:${"a".repeat(64)}`;
  const enrolment = enrolmentViewSchema.parse({
    approval_id: "enr_1",
    user_code: "ABCD-EFGH",
    requested_name: "arm",
    region: "eu",
    site: null,
    labels: { line: "a", cell: "4" },
    robot_type_id: null,
    configuration_digest: digest,
    address: "127.0.0.1",
    key_fingerprint: "SHA256:x",
    created_at: AT,
    expires_at: AT,
    robot: {
      id: "rob_1",
      name: "arm",
      robot_type_id: "acme.arm.v1",
      region: "eu",
      created_at: AT,
      labels: { cell: "4", line: "a" },
    },
  });
  const robot = enrolment.robot!;
  expect(enrolmentDifferences(enrolment, robot, "eu", digest)).toEqual([]);
  const other = { ...enrolment, labels: { line: "b", cell: "4" } };
  expect(enrolmentDifferences(other, robot, "eu", digest)).toEqual([["labels", "cell=4 line=a", "cell=4 line=b"]]);
});

test.each([
  ["waiting", "peak", "over the peak"],
  ["waiting", "robot", "offline"],
  ["waiting", "endpoint", "waiting"],
  ["ready", null, "ready"],
] as const)("memberStateInWords: %s for %s → %s", (state, waitingFor, words) => {
  expect(memberStateInWords({ state, waiting_for: waitingFor })).toBe(words);
});

test("fitGroups: incompatible groups first, larger groups first", () => {
  const robot = (fits: boolean | null, reason: string | null): PreviewedRobot => {
    const where = { robot_type_id: "acme.arm.v1", region: "eu", site: null };
    return { robot_id: "rob_1", robot: "arm", ...where, fits, reason };
  };
  const groups = fitGroups([
    robot(true, null),
    robot(true, "endpoint"),
    robot(false, "camera"),
    robot(false, "axes"),
    robot(false, "axes"),
  ]);
  expect(groups.map((group) => [group.fit, group.reason, group.robots.length])).toEqual([
    ["lacks", "axes", 2],
    ["lacks", "camera", 1],
    ["waits", "endpoint", 1],
    ["runs", null, 1],
  ]);
  expect(fitCounts(groups)).toEqual({ lacks: 3, waits: 1, runs: 1 });
});

const axes = (more: object) => ({ minimum_count: 0, maximum_count: null, units: [], names: [], ...more });
test.each([
  [null, "any"],
  ["of another service", "any"],
  [axes({}), "any"],
  [axes({ minimum_count: 6, maximum_count: 6 }), "exactly 6"],
  [axes({ minimum_count: 6, maximum_count: 8 }), "6 to 8"],
  [axes({ minimum_count: 6 }), "at least 6"],
  [axes({ maximum_count: 8, units: ["rad", "1"] }), "at most 8; each in rad or ratio"],
  [axes({ names: ["arm.wrist.position"] }), "among them arm.wrist.position"],
])("axesInWords: %j → %j", (value, text) => {
  expect(axesInWords(value)).toBe(text);
});
