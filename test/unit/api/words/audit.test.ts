import { describe, expect, test } from "vitest";

import type { AuditEntryView } from "../../../../src/api/audit.ts";
import type { RefusalView } from "../../../../src/api/refusals.ts";
import {
  contestInWords,
  detailsInWords,
  refusalInWords,
  refusedSince,
  subjectOf,
} from "../../../../src/api/words/audit.ts";

const AT = "2026-01-01T00:00:00Z";

function entryOf(more: Partial<AuditEntryView>): AuditEntryView {
  return {
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
  };
}

function refusalOf(more: Partial<RefusalView>): RefusalView {
  return {
    id: "ref_1",
    robot: "arm-7",
    status: 422,
    detail: "region: Field required",
    actor: { id: "key_1", label: null },
    address: "192.0.2.1",
    request_id: null,
    first_at: AT,
    last_at: AT,
    count: 1,
    ...more,
  };
}

test.each<[Partial<AuditEntryView>, string]>([
  [{ subject_name: "line 4" }, "line 4"],
  [{}, ""],
  [{ subject_model: "pi0.5", subject_name: "arm-3" }, "pi0.5 on arm-3"],
  [{ subject_model: "pi0.5" }, "pi0.5 on a robot"],
])("subjectOf: %j → %j", (entry, words) => {
  expect(subjectOf(entryOf(entry))).toBe(words);
});

describe("detailsInWords", () => {
  test("texts unchanged, other values as JSON, without ids and null", () => {
    const details = { scopes: "robots:setup", windows: [1, 2], site: null, robot_id: "rob_1", full: false };
    expect(detailsInWords(entryOf({ details }))).toBe("scopes=robots:setup windows=[1,2] full=false");
  });

  test("without what the subject already shows", () => {
    const details = { name: "arm-3", model: "pi0.5", region: "eu" };
    expect(detailsInWords(entryOf({ details, subject_name: "arm-3", subject_model: "pi0.5" }))).toBe("region=eu");
  });
});

test("refusalInWords: the count, if it is more than one", () => {
  expect(refusalInWords(refusalOf({}))).toBe("region: Field required (422)");
  expect(refusalInWords(refusalOf({ count: 3 }))).toBe("region: Field required (422, 3 times)");
});

test("refusedSince: refusals after the last registration, or all if there is none", () => {
  const before = refusalOf({ last_at: "2026-01-01T11:00:00+02:00" });
  const at = refusalOf({ last_at: "2026-01-01T10:00:00Z" });
  const after = refusalOf({ last_at: "2026-01-01T10:00:01Z" });
  expect(refusedSince([before, at, after], "2026-01-01T10:00:00Z")).toEqual([after]);
  expect(refusedSince([before, at, after], null)).toEqual([before, at, after]);
});

describe("contestInWords", () => {
  const line = { address: "192.0.2.1", actor: { id: "key_1", label: "line 4" } };
  const unnamed = { address: "192.0.2.2", actor: { id: "key_2", label: null } };

  test("null for an uncontested name", () => {
    expect(contestInWords({ contested_since: null, contested_from: [line, unnamed] })).toBeNull();
  });

  test("from one address", () => {
    expect(contestInWords({ contested_since: AT, contested_from: [line] })).toEqual({
      what: "its registration alternates between two contents",
      from: "192.0.2.1 (line 4)",
      remedy: "if two computers there have this name, give each its own name",
    });
  });

  test("from several", () => {
    expect(contestInWords({ contested_since: AT, contested_from: [line, unnamed] })).toEqual({
      what: "2 computers register this name in turn",
      from: "192.0.2.1 (line 4) and 192.0.2.2 (key_2)",
      remedy: "give each computer its own name",
    });
  });
});
