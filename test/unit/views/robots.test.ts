import { describe, expect, test } from "vitest";

import { enrolmentViewSchema } from "../../../src/api/enrolments.ts";
import type { RegistrationSummary } from "../../../src/api/registrations.ts";
import { identifiedRobotViewSchema } from "../../../src/api/robot-views.ts";
import { aloneBecause, enrolmentDifferences } from "../../../src/views/enrolments.ts";
import { robotCounts, robotsToAttend } from "../../../src/views/overview.ts";
import { contestNeed, type ListedRobot, robotNeeds, ROBOTS, robotState } from "../../../src/views/robots.ts";
import { csvLines } from "../../../src/views/view.ts";

const AT = "2026-01-01T00:00:00Z";
const NOW_MS = Date.parse(AT) + 3 * 86_400_000;

function robotOf(more: object, registration: Partial<RegistrationSummary> | null | undefined = null): ListedRobot {
  const view = { id: "rob_1", name: "arm", robot_type_id: "acme.arm.v1", region: "eu", created_at: AT, ...more };
  const summary = { robot_id: "rob_1", robot: "arm", configuration_digest: `sha256:${"a".repeat(64)}`, changed_at: AT };
  return {
    view: identifiedRobotViewSchema.parse(view),
    registration: registration && { ...summary, registered_at: AT, contested_since: null, ...registration },
  };
}

const ENROLLED = { installation_id: "ins_1", status: "online" };

describe("robotState", () => {
  test.each<[more: object, registration: Partial<RegistrationSummary> | null, state: unknown]>([
    [{}, null, undefined],
    [{ status: "offline" }, null, { state: "not_monitored" }],
    [{ ...ENROLLED }, null, { state: "online" }],
    [{ ...ENROLLED, status: "offline", last_seen_at: AT }, null, { state: "offline", since: AT }],
    [
      { ...ENROLLED, presence: "not_ready", not_ready_reason: "no file" },
      null,
      { state: "not_ready", reason: "no file" },
    ],
    [{ status: "offline" }, { contested_since: AT }, { state: "contested", since: AT }],
  ])("%j, registered %j → %j", (more, registration, state) => {
    const known = robotState(robotOf(more, registration));
    if (state === undefined) expect(known).toBeNull();
    else expect(known).toMatchObject({ kind: "state", ...Object(state) });
  });
});

test("counts: robots without a computer beside online and offline, also where there are none", () => {
  const robots = [robotOf({ status: "offline" }), robotOf(ENROLLED), robotOf({ ...ENROLLED, presence: "not_ready" })];
  expect(robotCounts(robots)).toEqual([
    ["online", 1],
    ["not_ready", 1],
    ["offline", 0],
    ["not_monitored", 1],
  ]);
});

test("robotsToAttend: by state, those that went last first", () => {
  const gone = (name: string, last_seen_at: string | null) =>
    robotOf({ ...ENROLLED, name, status: "offline", last_seen_at });
  const attention = robotsToAttend([gone("never", null), gone("long", "2025-01-01T00:00:00Z"), gone("late", AT)]);
  expect(attention.map(({ items }) => items.map(({ name }) => name))).toEqual([[], [], ["late", "long", "never"]]);
});

test("filter changed: by days since the change; none while the registration is not known", () => {
  const changed = ROBOTS.filters.find(({ name }) => name === "changed");
  expect(changed?.valuesOf(robotOf({}, {}), NOW_MS)).toEqual(["last_7_days", "last_30_days"]);
  expect(changed?.valuesOf(robotOf({}, undefined), NOW_MS)).toEqual([]);
});

test("csvLines: whole values; a cell that a spreadsheet would run is made harmless", () => {
  const columns = ROBOTS.columns.filter(({ name }) => ["name", "state", "labels", "digest", "added"].includes(name));
  const robot = robotOf({ name: "=1+1", status: "offline", labels: { cell: "4", line: "a" } }, {});
  expect(csvLines(columns, [robot])).toEqual([
    "name,state,labels,digest,added",
    `"'=1+1",not monitored,cell=4 line=a,sha256:${"a".repeat(64)},${AT}`,
  ]);
});

describe("needs", () => {
  const line = { address: "192.0.2.1", actor: { id: "key_1", label: "line 4" } };
  const unnamed = { address: "192.0.2.2", actor: { id: "key_2", label: null } };
  test.each([
    [null, [line, unnamed], null],
    [AT, [line], ["Its registration alternates between two contents", "From 192.0.2.1 (line 4)"]],
    [AT, [line, unnamed], ["2 computers register this name in turn", "From 192.0.2.1 (line 4) and 192.0.2.2 (key_2)"]],
  ])("contestNeed: case %#", (since, from, words) => {
    const need = contestNeed({ contested_since: since, contested_from: from });
    expect(need && [need.reason, need.detail]).toEqual(words);
  });

  test.each([
    [["pi0.5", "pi0.5"], []],
    [["pi0.5", "act"], ["fleet 0 has pi0.5, fleet 1 has act"]],
  ])("fleets with the models %j → %j", (models, details) => {
    const fleets = models.map((subject, index) => ({ id: `fleet_${index}`, name: `fleet ${index}`, subject }));
    const needs = robotNeeds({ view: robotOf({ fleets }).view, registration: null });
    expect(needs.map(({ detail }) => detail)).toEqual(details);
  });
});

const ENROLMENT = enrolmentViewSchema.parse({
  approval_id: "enr_1",
  user_code: "ABCD-EFGH",
  requested_name: "arm",
  region: "eu",
  site: null,
  labels: { line: "a", cell: "4" },
  robot_type_id: null,
  configuration_digest: `sha256:${"a".repeat(64)}`,
  address: "127.0.0.1",
  key_fingerprint: "SHA256:x",
  created_at: AT,
  expires_at: AT,
  robot: robotOf({ labels: { cell: "4", line: "a" } }).view,
});

test("enrolmentDifferences: labels in another order → none; another label → both lists in one order", () => {
  const { robot, configuration_digest: digest } = ENROLMENT;
  expect(robot && enrolmentDifferences(ENROLMENT, robot, "eu", digest)).toEqual([]);
  const other = { ...ENROLMENT, labels: { line: "b", cell: "4" } };
  expect(robot && enrolmentDifferences(other, robot, "eu", digest)).toEqual([
    ["labels", "cell=4 line=a", "cell=4 line=b"],
  ]);
});

test.each([
  [{}, null],
  [{ robot: robotOf(ENROLLED).view }, "arm is online on another computer"],
  [{ region: null }, "the computer did not say its region"],
])("aloneBecause: case %#", (more, reason) => {
  expect(aloneBecause({ ...ENROLMENT, ...more })).toBe(reason);
});
