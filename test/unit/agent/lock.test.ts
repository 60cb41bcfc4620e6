import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { StateLock } from "../../../src/agent/lock.ts";
import { lockState } from "../../../src/agent/lock.ts";
import { systemFiles } from "../../../src/platform/files.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** The lock of a directory that nobody holds. */
async function taken(directory: string): Promise<StateLock> {
  const result = await lockState(systemFiles, directory);
  if (result.kind !== "lock") throw new Error(result.kind);
  return result.lock;
}

test("scenario 15: one holder per state directory, whatever path leads to it", async () => {
  await using _first = await taken(folder);
  expect(await lockState(systemFiles, folder)).toEqual({ kind: "held" });
  await symlink(folder, `${folder}-link`);
  expect(await lockState(systemFiles, `${folder}-link`)).toEqual({ kind: "held" });
  await rm(`${folder}-link`);
});

test("lock: free again once it is let go", async () => {
  const first = await taken(folder);
  await first[Symbol.asyncDispose]();
  await using second = await taken(folder);
  expect(second).toBeDefined();
});

test("lock: two directories do not disturb each other", async () => {
  await using _one = await taken(folder);
  await using other = await taken(join(folder, "other"));
  expect(other).toBeDefined();
});

test("lock: a directory that cannot be used is a problem with a remedy", async () => {
  await writeFile(join(folder, "file"), "");
  const result = await lockState(systemFiles, join(folder, "file", "state"));
  expect(result).toMatchObject({
    kind: "problem",
    problem: { code: "state-unusable", fix: expect.stringContaining("--state-dir") },
  });
});
