import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe, expect, test } from "vitest";

import { expandPatterns, matches } from "../../../src/look/patterns.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";

test.each<[pattern: string, name: string, isMatch: boolean]>([
  ["*", "a", true],
  ["*", "", true],
  ["*", ".a", false],
  [".*", ".a", true],
  ["?a", ".a", false],
  ["*.stl", "a.stl", true],
  ["*.stl", ".stl", false],
  ["*.stl", "a.stl.bak", false],
  ["*.stl", "a.STL", false],
  ["a*c", "ac", true],
  ["a*c", "abbc", true],
  ["a*c", "abcb", false],
  ["a*b*c", "aXbYbZc", true],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["a?c", "a🦾c", true],
  ["?", "é", true],
  ["**", "abc", true],
  ["?*", "a", true],
  ["?*", "", false],
  ["[ab]*", "a", false],
  ["[ab]*", "[ab]c", true],
  ["a.b", "aXb", false],
  ["* *", "a b", true],
  ["*\\?", "a\\b", true],
  ["abc", "abc", true],
])("matches: %j, %j → %s", (pattern, name, isMatch) => {
  expect(matches(name, pattern)).toBe(isMatch);
});

test("matches: a pattern made to take long → does not", () => {
  const startedMs = performance.now();
  expect(matches("a".repeat(255), `${"*a".repeat(100)}b`)).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(500);
});

describe("expandPatterns", () => {
  const folder = mkdtempSync(join(tmpdir(), "patterns-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => join(folder, name);
  for (const name of ["b.stl", "a b.stl", "Z.stl", "é.stl", ".hidden.stl", "z.txt"]) writeFileSync(at(name), name);
  mkdirSync(at("folder.stl"));
  mkdirSync(at("empty"));
  symlinkSync("b.stl", at("link.stl"));
  symlinkSync("gone", at("broken.stl"));
  mkdirSync(at("many"));
  for (let each = 0; each < 513; each += 1) writeFileSync(at(`many/${each}`), "");

  const expand = async (...paths: readonly string[]) => {
    const list = paths.map((path, entry) => ({ label: entry === 0 ? path : "own", path, entry }));
    const { files, findings } = await expandPatterns(systemFiles, list);
    const withoutFolder = (text: string) => text.replaceAll(folder, "");
    return {
      files: files.map(({ label, path, entry }) => withoutFolder(`${entry} ${label} ${path}`)),
      findings: findings.map(({ id, entry, message }) => withoutFolder(`${entry} ${id} ${message}`)),
    };
  };

  test("files in the place of the pattern, by the bytes of their names, links among them, without hidden names and folders", async () => {
    expect(await expand(at("*.stl"), at("z.txt"), at("?.stl"))).toEqual({
      files: [
        "0 /Z.stl /Z.stl",
        "0 /a b.stl /a b.stl",
        "0 /b.stl /b.stl",
        "0 /broken.stl /broken.stl",
        "0 /link.stl /link.stl",
        "0 /é.stl /é.stl",
        "1 own /z.txt",
        "2 own (Z.stl) /Z.stl",
        "2 own (b.stl) /b.stl",
        "2 own (é.stl) /é.stl",
      ],
      findings: [],
    });
  });

  test("512 files of all patterns together → no finding; one more → a finding", async () => {
    const { files, findings } = await expand(at("many/*0"), at("many/?"), at("many/1?"), at("many/2??"));
    expect([files.length, findings]).toEqual([52 + 10 + 10 + 100, []]);
    const most = await expand(at("many/?"), at("many/??"), at("many/???"));
    expect(most.findings).toEqual([
      "2 file_too_large Cannot hash /many/???: patterns may stand for 512 files in all; write narrower ones",
    ]);
    expect((await expand(at("many/*"))).files).toEqual([]);
  });

  test("no file, no folder, a file as the folder → findings at their entries", async () => {
    expect((await expand(at("*.urdf"), at("empty/*"), at("none/*"), at("z.txt/*"))).findings).toEqual([
      "0 file_missing Cannot find /*.urdf: no file has such a name; correct the pattern in the manifest",
      "1 file_missing Cannot find /empty/*: no file has such a name; correct the pattern in the manifest",
      "2 file_missing Cannot find /none: create it, or correct the path in the manifest",
      "3 file_missing Cannot find /z.txt: a part of its path is not a directory; correct the path in the manifest",
    ]);
  });
});
