import { spawnSync } from "node:child_process";
import { chmod, chown, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, expect, test, vi } from "vitest";

import { lockState } from "../../../src/agent/control/lock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { testFolder } from "../../support/folder.ts";
import { startWords } from "../../support/programs/command.ts";
import { asNobody, canBecomeNobody, NOBODY_ID } from "../../support/programs/programs.ts";

let folder = "";
beforeEach(() => void (folder = testFolder("lock")));

const lock = (directory: string) => lockState(systemFiles, directory, process.getuid?.() ?? 0);

/** Takes the lock of a directory that is not locked. */
async function taken(directory: string): Promise<AsyncDisposable> {
  const result = await lock(directory);
  if (result.kind !== "lock") throw new Error(result.kind);
  return result.lock;
}

test("scenario 15: state directory → one holder, by any path, without a file; released → free again", async () => {
  const before = await stat(folder, { bigint: true });
  const first = await taken(folder);
  expect(await lock(folder)).toEqual({ kind: "held" });
  expect(await readdir(folder)).toEqual([]);
  expect((await stat(folder, { bigint: true })).ctimeNs).toBe(before.ctimeNs);
  await symlink(folder, `${folder}-link`);
  expect(await lock(`${folder}-link`)).toEqual({ kind: "held" });
  await rm(`${folder}-link`);
  await using _other = await taken(join(folder, "other"));
  await first[Symbol.asyncDispose]();
  await using _second = await taken(folder);
});

test("lock: unusable directory → problem with a remedy", async () => {
  await writeFile(join(folder, "file"), "");
  const result = await lock(join(folder, "file", "state"));
  expect(result).toMatchObject({
    kind: "problem",
    problem: { code: "state-unusable", fix: expect.stringContaining("--state-dir") },
  });
});

test("lock: flock(1) cannot be started → its own problem", async () => {
  vi.stubEnv("PATH", folder);
  await writeFile(join(folder, "flock"), "", { mode: 0o600 });
  expect(await lock(folder)).toMatchObject({
    kind: "problem",
    problem: { code: "state-not-locked", what: "flock(1) cannot be started (EACCES)", where: folder },
  });
  vi.unstubAllEnvs();
  await using _free = await taken(folder);
});

test("lock: holder killed → released; holds across network and process namespaces", async () => {
  // A user namespace lets any user create the other two, where the system allows it.
  const apart = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"];
  const argv = lockingProgram(folder, 0);
  await using holder = startWords(canUnshare(apart) ? [...apart, ...argv] : argv);
  await holder.wrote("lock");
  expect(await lock(folder)).toEqual({ kind: "held" });
  holder.child.kill("SIGKILL");
  await holder.ended();
  await expect.poll(async () => (await lock(folder)).kind).toBe("lock");
});

test.skipIf(!canBecomeNobody)(
  "lock: user with read access only → refused, unless the state is their own",
  { tags: "needs/root" },
  async () => {
    const lockAsNobody = async () => {
      await using other = startWords([...asNobody, ...lockingProgram(folder, NOBODY_ID)]);
      await other.wrote("\n");
      return other.output().trim();
    };
    await chmod(folder, 0o755);
    expect(await lockAsNobody()).toBe("denied");
    await chown(folder, NOBODY_ID, NOBODY_ID);
    await chmod(folder, 0o500);
    expect(await lockAsNobody()).toBe("lock");
  },
);

/** Prints the result of the attempt, and keeps the lock. */
function lockingProgram(directory: string, userId: number): readonly string[] {
  const sources = join(import.meta.dirname, "../../../src");
  const script = `
    import { lockState } from ${JSON.stringify(join(sources, "agent/control/lock.ts"))};
    import { systemFiles } from ${JSON.stringify(join(sources, "platform/files/files.ts"))};
    const result = await lockState(systemFiles, ${JSON.stringify(directory)}, ${userId});
    console.log(result.kind);
    setInterval(() => {}, 60_000);`;
  return [process.execPath, "--input-type=module", "-e", script];
}

function canUnshare([program = "", ...argv]: readonly string[]): boolean {
  return spawnSync(program, [...argv, "true"]).status === 0;
}
