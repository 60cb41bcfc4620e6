import { expect, test } from "vitest";

import type { ApiKeyView } from "../../../src/api/keys.ts";
import { keyItems, KEYS, keysEndingWith, revocationEnds, usualEnd } from "../../../src/views/keys.ts";
import { csvLines } from "../../../src/views/view.ts";

const AT = "2026-01-01T00:00:00Z";
const NOW_MS = Date.parse(AT);

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
  const ending = keysEndingWith({ id: "root" }, keys, NOW_MS).map(({ id }) => id);
  expect(ending).toEqual(["child", "expires-later", "grandchild", "below"]);
});

test("keyItems: state and maker, as far as the service says", () => {
  const keys: readonly ApiKeyView[] = [
    { id: "a", label: "line 4", created_by: "command", revoked_at: null, expires_at: null },
    { id: "b", label: "", created_by: "a", revoked_at: AT },
    { id: "c", created_by: "b", expires_at: AT, revoked_at: null },
    { id: "d", created_by: "gone" },
  ];
  expect(keyItems(keys, NOW_MS).map(({ state, maker }) => [state, maker])).toEqual([
    ["active", "the service's computer"],
    ["revoked", "line 4"],
    ["expired", "b"],
    [null, "gone"],
  ]);
});

test("KEYS: uses of a key for enrolments, scopes, and a key that was never used", () => {
  const enrollment = { uses: 500 };
  const shown = {
    id: "k",
    label: "july",
    scopes: ["robots:enroll"],
    uses_remaining: 3,
    enrollment,
    last_used_at: null,
  };
  const names = new Set(["label", "scopes", "uses", "last used"]);
  const columns = KEYS.columns.filter(({ name }) => names.has(name));
  expect(csvLines(columns, keyItems([shown, { id: "k", scopes: null }], NOW_MS))).toEqual([
    "label,scopes,uses,last used",
    "july,robots:enroll,3 of 500 left,never",
    ",everything,,",
  ]);
});

test("revocationEnds: keys made with it by their labels; robots only where one of them registers", () => {
  const reader = { id: "r", scopes: ["fleets:read"] };
  const made = Array.from({ length: 7 }, (_, index) => ({ ...reader, label: `cell ${index}` }));
  expect(revocationEnds(reader, made)[1]).toBe(
    "It also ends 7 keys made with it: cell 0, cell 1, cell 2, cell 3, cell 4 and 2 more.",
  );
  const robots = "Robots that use it keep running, but cannot register changes.";
  expect([reader, { id: "e", scopes: null }].map((key) => revocationEnds(key, []).includes(robots))).toEqual([
    false,
    true,
  ]);
});

test.each([
  [["robots:setup"], null],
  [["robots:setup", "robots:read"], "2026-04-01T00:00:00.000Z"],
  [null, "2026-04-01T00:00:00.000Z"],
])("usualEnd: %j → %j", (scopes, end) => {
  expect(usualEnd(scopes, NOW_MS)).toBe(end);
});
