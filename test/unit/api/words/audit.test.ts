import { describe, expect, test } from "vitest";

import type { AuditEntryView } from "../../../../src/api/audit.ts";
import { contestInWords, detailsInWords, subjectOf } from "../../../../src/api/words/audit.ts";

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
