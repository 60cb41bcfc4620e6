import { describe, expect, test } from "vitest";

import type { AuditEntryView } from "../../../src/api/audit.ts";
import type { PreviewedRobot } from "../../../src/api/fleet-details.ts";
import type { ApiKeyView } from "../../../src/api/keys.ts";
import { detailsInWords, subjectOf } from "../../../src/api/words/audit.ts";
import { failureOf } from "../../../src/api/words/deployment-failures.ts";
import { fitCounts, fitGroups } from "../../../src/api/words/fit-groups.ts";
import { memberStateInWords } from "../../../src/api/words/fleets.ts";
import { keysEndingWith, keysInWords, makerInWords } from "../../../src/api/words/key-lineage.ts";
import { axesInWords } from "../../../src/api/words/requirements.ts";

const AT = "2026-01-01T00:00:00Z";

describe("audit entries", () => {
  const entryOf = (more: Partial<AuditEntryView>): AuditEntryView => ({
    id: "aud_1",
    at: AT,
    action: "deployment.create",
    subject_id: "dep_1",
    subject_name: null,
    subject_model: null,
    actor: { id: "key_1", label: null },
    request_id: null,
    details: {},
    ...more,
  });

  test.each<[Partial<AuditEntryView>, string]>([
    [{ subject_name: "line 4" }, "line 4"],
    [{}, ""],
    [{ subject_model: "pi0.5", subject_name: "arm-3" }, "pi0.5 on arm-3"],
    [{ subject_model: "pi0.5" }, "pi0.5 on a robot"],
  ])("subjectOf: %j → %j", (entry, words) => {
    expect(subjectOf(entryOf(entry))).toBe(words);
  });

  test("detailsInWords: values that are no texts as JSON; without ids, null, and what the subject shows", () => {
    const details = { scopes: "robots:setup", windows: [1], site: null, robot_id: "rob_1", full: false, name: "arm-3" };
    expect(detailsInWords(entryOf({ details, subject_name: "arm-3" }))).toBe(
      "scopes=robots:setup windows=[1] full=false",
    );
  });
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

describe("keys", () => {
  test("keysEndingWith: what was created with it, and with that; without ended keys", () => {
    const keys: readonly ApiKeyView[] = [
      { id: "root" },
      { id: "grandchild", parent_id: "child" },
      { id: "child", parent_id: "root" },
      { id: "of-no-other", created_by: "root", parent_id: null },
      { id: "of-another", parent_id: "other" },
      { id: "revoked", parent_id: "root", revoked_at: AT },
      { id: "below", parent_id: "revoked", revoked_at: null },
      { id: "expires-now", parent_id: "root", expires_at: AT },
      { id: "expires-later", parent_id: "root", expires_at: "2026-01-01T00:00:00.001Z" },
    ];
    const ending = keysEndingWith({ id: "root" }, keys, Date.parse(AT)).map(({ id }) => id);
    expect(ending).toEqual(["child", "expires-later", "grandchild", "below"]);
  });

  const keys = new Map<string, ApiKeyView>([
    ["named", { id: "named", label: "line 4" }],
    ["unnamed", { id: "unnamed", label: "" }],
  ]);
  test.each<[ApiKeyView["created_by"], string]>([
    [undefined, ""],
    [null, ""],
    ["command", "the service's computer"],
    ["named", "line 4"],
    ["unnamed", "unnamed"],
    ["gone", "gone"],
  ])("makerInWords: %j → %j", (createdBy, words) => {
    expect(makerInWords({ created_by: createdBy }, keys)).toBe(words);
  });

  test("keysInWords", () => {
    expect([1, 2].map(keysInWords)).toEqual(["1 key made with it", "2 keys made with it"]);
  });
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
