import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { isOwnFolder, openCodeCache } from "../../../src/platform/code-cache.ts";

let folder = "";
let program = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "code-cache-"));
  program = join(folder, "program.cjs");
  await writeFile(program, `#!/usr/bin/env node\nmodule.exports = { name: require("./part.cjs").name() };`);
  await writeFile(join(folder, "part.cjs"), `exports.name = () => require("node:path").basename(__filename);`);
});
afterEach(() => rm(folder, { recursive: true }));

/** One start of the program that ends with what it compiled being kept. */
function runOnce(): unknown {
  const cache = openCodeCache(folder);
  const exports = cache.load(program);
  cache.keep();
  return exports;
}

const inodeOf = async (name: string) => (await stat(join(folder, name))).ino;

test("code cache: runs a program and the files beside it, and keeps the code of each", async () => {
  expect(runOnce()).toEqual({ name: "part.cjs" });
  expect((await readdir(folder)).toSorted()).toEqual(["part.cjs", "part.cjs.code", "program.cjs", "program.cjs.code"]);
  expect((await stat(join(folder, "part.cjs.code"))).mode & 0o777).toBe(0o600);
});

test("code cache: what is kept is used, and not written again", async () => {
  runOnce();
  const before = await inodeOf("part.cjs.code");
  expect(runOnce()).toEqual({ name: "part.cjs" });
  expect(await inodeOf("part.cjs.code")).toBe(before);
});

test("code cache: the code of another version is not used, even of one of the same length", async () => {
  runOnce();
  await writeFile(join(folder, "part.cjs"), `exports.name = () => require("node:path").dirname("other"  );`);
  expect(runOnce()).toEqual({ name: "." });
});

test.each([
  ["a flipped bit", (bytes: Buffer) => bytes.map((byte, index) => (index === bytes.length - 1 ? byte ^ 1 : byte))],
  ["half of it", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ["nothing", () => new Uint8Array()],
])("code cache: a file that holds %s is not used, and replaced", async (_name, damage) => {
  runOnce();
  const path = join(folder, "part.cjs.code");
  const whole = await readFile(path);
  await writeFile(path, damage(whole));
  expect(runOnce()).toEqual({ name: "part.cjs" });
  expect(await readFile(path)).toHaveLength(whole.length);
});

test("code cache: a file that is required twice runs once", async () => {
  await writeFile(program, `module.exports = require("./part.cjs") === require("./part.cjs");`);
  expect(runOnce()).toBe(true);
});

test("code cache: code is written once, however often a program says so", async () => {
  const cache = openCodeCache(folder);
  cache.load(program);
  cache.keep();
  await rm(join(folder, "part.cjs.code"));
  cache.keep();
  expect(await readdir(folder)).not.toContain("part.cjs.code");
});

test("code cache: what is loaded after the code was kept is not kept", async () => {
  const cache = openCodeCache(folder);
  cache.keep();
  cache.load(program);
  cache.keep();
  expect((await readdir(folder)).toSorted()).toEqual(["part.cjs", "program.cjs"]);
});

test("code cache: a folder that takes no file keeps no program from running", () => {
  const cache = openCodeCache(join(folder, "missing"));
  expect(cache.load(program)).toEqual({ name: "part.cjs" });
  cache.keep();
});

test("code cache: a file requires nothing but its neighbours and Node", async () => {
  await writeFile(program, `require("vitest");`);
  expect(() => openCodeCache(folder).load(program)).toThrow("Cannot find module 'vitest'");
});

test("isOwnFolder: a folder that others may write, or that is not there, is nobody's cache", async () => {
  expect(isOwnFolder(folder)).toBe(true);
  await chmod(folder, 0o770);
  expect(isOwnFolder(folder)).toBe(false);
  expect(isOwnFolder(join(folder, "missing"))).toBe(false);
});
