import { expect, it } from "vitest";

import type { RegistrationPart } from "../../../src/api/differences.ts";
import { diffTexts } from "../../../src/differences/contents.ts";
import { compareLines, compareWith, diffLabels, diffParts } from "../../../src/differences/differences.ts";

const part = (label: string, content: string, more: Partial<RegistrationPart> = {}): RegistrationPart => ({
  label,
  kind: "file",
  sha256: content.repeat(64).slice(0, 64),
  bytes: 1,
  shared: false,
  ...more,
});
const changesOf = (before: readonly RegistrationPart[], after: readonly RegistrationPart[]) =>
  diffParts(before, after, compareLines).map(({ change, subject }) => `${change} ${subject}`);

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
    compareLines,
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
  ["not shared", false, [], "not_shared", []],
  ["shared, and not kept", true, [], "not_kept", []],
  ["shared and kept", true, ["gain: 1\n", "gain: 2\n"], "compared", ["gain 1 → 2 (+1)"]],
] as const)("content %s", (_what, shared, [old, now], content, details) => {
  const contents = new Map(
    [
      ["1".repeat(64), old],
      ["2".repeat(64), now],
    ].filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const compare = compareWith(contents, diffTexts);
  expect(diffParts([part("a", "1", { shared })], [part("a", "2", { shared })], compare)).toMatchObject([
    { content, details },
  ]);
});

it("labels → each by name, also one called __proto__", () => {
  const differences = diffLabels({ cell: "4", team: "a" }, JSON.parse('{"cell": "5", "__proto__": "x"}'));
  expect(differences.map(({ subject, change, before, after }) => [subject, change, before, after])).toEqual([
    ["__proto__", "added", null, "x"],
    ["cell", "changed", "4", "5"],
    ["team", "removed", "a", null],
  ]);
});
