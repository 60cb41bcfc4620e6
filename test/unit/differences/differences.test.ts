import { expect, it } from "vitest";

import type { RegistrationPart } from "../../../src/api/differences.ts";
import { diffLabels, diffParts, withContents } from "../../../src/differences/differences.ts";

const part = (label: string, content: string, more: Partial<RegistrationPart> = {}): RegistrationPart => ({
  label,
  kind: "file",
  sha256: content.repeat(64).slice(0, 64),
  bytes: 1,
  shared: false,
  ...more,
});
const changesOf = (before: readonly RegistrationPart[], after: readonly RegistrationPart[]) =>
  diffParts(before, after).map(({ change, subject }) => `${change} ${subject}`);

it("parts → changed, added, removed; a new one in between moves nobody", () => {
  const before = [part("a", "1"), part("b", "2"), part("c", "3")];
  expect(changesOf(before, [part("a", "1"), part("x", "9"), part("b", "4")])).toEqual([
    "added x",
    "changed b",
    "removed c",
  ]);
  expect(changesOf(before, before)).toEqual([]);
});

it("two cameras exchanged → both, with what differs", () => {
  const camera = (label: string, serial: string) =>
    part(label, serial, { kind: "device", line: JSON.stringify({ bus: "usb", serial }) });
  const differences = diffParts(
    [camera("front", "a"), camera("wrist", "b")],
    [camera("front", "b"), camera("wrist", "a")],
  );
  expect(differences.map(({ subject, details }) => [subject, details])).toEqual([
    ["front", ['serial "a" → "b"']],
    ["wrist", ['serial "b" → "a"']],
  ]);
});

it("another order → moved", () => {
  expect(changesOf([part("a", "1"), part("b", "2")], [part("b", "2"), part("a", "1")])).toEqual(["moved b", "moved a"]);
});

it.each([
  ["shared by both", true, true, "not_kept"],
  ["not shared", false, false, "not_shared"],
  ["shared since", false, true, "not_shared"],
] as const)("content %s → %s", (_what, before, after, content) => {
  const [difference] = diffParts([part("a", "1", { shared: before })], [part("a", "2", { shared: after })]);
  expect(difference).toMatchObject({ content, details: [] });
});

it("contents → what differs in them", () => {
  const [difference] = diffParts([part("a", "1", { shared: true })], [part("a", "2", { shared: true })]);
  expect(withContents(difference!, "gain: 1\n", "gain: 2\n")).toMatchObject({
    content: "compared",
    details: ["gain 1 → 2 (+1)"],
    before: "1".repeat(64),
  });
});

it("labels → each by name, also one called __proto__", () => {
  const differences = diffLabels({ cell: "4", team: "a" }, JSON.parse('{"cell": "5", "__proto__": "x"}'));
  expect(differences.map(({ subject, change, before, after }) => [subject, change, before, after])).toEqual([
    ["__proto__", "added", null, "x"],
    ["cell", "changed", "4", "5"],
    ["team", "removed", "a", null],
  ]);
});
