import { describe, expect, test } from "vitest";

import type { ApiKeyView } from "../../../../src/api/keys.ts";
import { keysEndingWith, keysInWords, makerInWords } from "../../../../src/api/words/key-lineage.ts";

const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
const root: ApiKeyView = { id: "root" };

function endingWithRoot(...keys: readonly ApiKeyView[]): readonly string[] {
  return keysEndingWith(root, [root, ...keys], NOW_MS).map(({ id }) => id);
}

describe("keysEndingWith", () => {
  test("keys created with it, and keys created with those", () => {
    const keys = [
      { id: "grandchild", parent_id: "child" },
      { id: "child", parent_id: "root" },
      { id: "of-no-other", created_by: "root", parent_id: null },
      { id: "of-another", parent_id: "other" },
    ];
    expect(endingWithRoot(...keys)).toEqual(["child", "grandchild"]);
  });

  test("without ended keys, but with the keys that they created", () => {
    const keys = [
      { id: "revoked", parent_id: "root", revoked_at: "2025-12-01T00:00:00Z" },
      { id: "below", parent_id: "revoked", revoked_at: null },
      { id: "expires-now", parent_id: "root", expires_at: "2026-01-01T00:00:00Z" },
      { id: "expires-later", parent_id: "root", expires_at: "2026-01-01T00:00:00.001Z" },
    ];
    expect(endingWithRoot(...keys)).toEqual(["expires-later", "below"]);
  });

  test("keys that created each other in a cycle → terminates", () => {
    expect(
      keysEndingWith(
        { id: "a" },
        [
          { id: "a", parent_id: "b" },
          { id: "b", parent_id: "a" },
        ],
        NOW_MS,
      ),
    ).toEqual([{ id: "b", parent_id: "a" }]);
  });
});

test.each<[Partial<ApiKeyView>, string]>([
  [{}, ""],
  [{ created_by: null }, ""],
  [{ created_by: "command" }, "the service's computer"],
  [{ created_by: "named", parent_id: "named" }, "line 4"],
  [{ created_by: "named" }, "line 4"],
  [{ created_by: "unnamed", parent_id: "unnamed" }, "unnamed"],
  [{ created_by: "gone", parent_id: "gone" }, "gone"],
])("makerInWords: %j → %j", (key, words) => {
  const keys = new Map<string, ApiKeyView>([
    ["named", { id: "named", label: "line 4" }],
    ["unnamed", { id: "unnamed", label: "" }],
  ]);
  expect(makerInWords({ id: "key", ...key }, keys)).toBe(words);
});

test("keysInWords", () => {
  expect([1, 2].map(keysInWords)).toEqual(["1 key made with it", "2 keys made with it"]);
});
