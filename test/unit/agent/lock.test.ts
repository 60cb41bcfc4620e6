import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { StateLock } from "../../../src/agent/lock.ts";
import { lockState } from "../../../src/agent/lock.ts";
import { systemFiles } from "../../../src/platform/files.ts";
import { startWords } from "../../support/command.ts";

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

test("lock: it is a file of the state's owner alone, and is not written again", async () => {
  const first = await taken(folder);
  await first[Symbol.asyncDispose]();
  const path = join(folder, "lock");
  const before = await stat(path, { bigint: true });
  expect([before.mode & 0o777n, before.uid, before.size]).toEqual([
    0o600n,
    (await stat(folder, { bigint: true })).uid,
    0n,
  ]);
  await using _second = await taken(folder);
  expect(await stat(path, { bigint: true })).toEqual(before);
});

test("lock: a link in the place of the file is not followed", async () => {
  await symlink(join(folder, "elsewhere"), join(folder, "lock"));
  expect(await lockState(systemFiles, folder)).toMatchObject({ kind: "problem", problem: { code: "state-unusable" } });
  expect(await readdir(folder)).toEqual(["lock"]);
});

test.each(["ENOSPC", "EROFS"])(
  "lock: a disk that takes no file (%s) is no obstacle, nor for the second to see the first",
  async (code) => {
    const createExclusive = () => Promise.reject(Object.assign(new Error(code), { code }));
    const files = { ...systemFiles, createExclusive };
    const result = await lockState(files, folder);
    expect(result.kind).toBe("lock");
    expect(await lockState(files, folder)).toEqual({ kind: "held" });
    if (result.kind === "lock") await result.lock[Symbol.asyncDispose]();
  },
);

test("lock: it is gone with a process that is killed, and holds across network and process namespaces", async () => {
  const script = `
    import { lockState } from ${JSON.stringify(join(import.meta.dirname, "../../../src/agent/lock.ts"))};
    import { systemFiles } from ${JSON.stringify(join(import.meta.dirname, "../../../src/platform/files.ts"))};
    const result = await lockState(systemFiles, ${JSON.stringify(folder)});
    console.log(result.kind);
    setInterval(() => {}, 60_000);`;
  // A user namespace of its own lets every user make the other two, where the system allows it.
  const apart = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"];
  const words = [process.execPath, "--input-type=module", "-e", script];
  await using holder = startWords(canUnshare(apart) ? [...apart, ...words] : words);
  await holder.wrote("lock");
  expect(await lockState(systemFiles, folder)).toEqual({ kind: "held" });
  holder.child.kill("SIGKILL");
  await holder.ended();
  await expect.poll(async () => (await lockState(systemFiles, folder)).kind).toBe("lock");
});

function canUnshare([program = "", ...words]: readonly string[]): boolean {
  return spawnSync(program, [...words, "true"]).status === 0;
}
