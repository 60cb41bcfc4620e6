import { describe, expect, test } from "vitest";

import type { AuditEntryView } from "../../../src/api/audit.ts";
import { enrolmentViewSchema } from "../../../src/api/enrolments.ts";
import type { ApiKeyView } from "../../../src/api/keys.ts";
import { contestInWords, detailsInWords, subjectOf } from "../../../src/api/words/audit.ts";
import { failureOf } from "../../../src/views/deployments.ts";
import { enrolmentDifferences } from "../../../src/api/words/enrolments.ts";
import { keysEndingWith, keysInWords, makerInWords } from "../../../src/api/words/key-lineage.ts";
import { axesText } from "../../../src/views/models.ts";

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
])("axesText: %j → %j", (value, text) => {
  expect(axesText(value)).toBe(text);
});
