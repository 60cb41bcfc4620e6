import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { describeFailure, lockFolder } from "../../../../src/platform/files/flock.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "flock-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

test("lockFolder: held by another descriptor → free after that is disposed", async () => {
  const other = await lockFolder(folder);
  expect(other.flocked).toEqual({ kind: "locked" });
  await using meanwhile = await lockFolder(folder);
  expect(meanwhile.flocked).toEqual({ kind: "held" });
  await other[Symbol.asyncDispose]();
  await using afterwards = await lockFolder(folder);
  expect(afterwards.flocked).toEqual({ kind: "locked" });
});

test("lockFolder: symbolic link → refused, or the folder behind it is locked", async () => {
  const link = join(folder, "link");
  await symlink(folder, link);
  await expect(lockFolder(link)).rejects.toMatchObject({ code: "ENOTDIR" });
  await using behind = await lockFolder(link, "followed");
  expect(behind.flocked).toEqual({ kind: "locked" });
  await using itself = await lockFolder(folder);
  expect(itself.flocked).toEqual({ kind: "held" });
});

describe("lockFolder: flock(1) fails", () => {
  const cases: readonly (readonly [string, string | null, number, object, string])[] = [
    ["that is not installed", null, 0, { kind: "not-started", code: "ENOENT" }, "flock(1) is not installed"],
    ["that cannot be run", "", 0o600, { kind: "not-started", code: "EACCES" }, "flock(1) cannot be started (EACCES)"],
    // Like busybox for every error.
    [
      "that fails with the status of a held lock",
      "echo 'flock: No locks available' >&2; exit 1",
      0o700,
      { kind: "failed", reason: "flock: No locks available" },
      "it cannot be locked (flock: No locks available)",
    ],
    [
      "that fails with its own status",
      "echo 'flock: 3: Bad file descriptor' >&2; exit 65",
      0o700,
      { kind: "failed", reason: "flock: 3: Bad file descriptor" },
      "it cannot be locked (flock: 3: Bad file descriptor)",
    ],
    [
      "that fails without output",
      "exit 71",
      0o700,
      { kind: "failed", reason: "flock: 71" },
      "it cannot be locked (flock: 71)",
    ],
    [
      "that is killed",
      "kill -9 $$",
      0o700,
      { kind: "failed", reason: "flock: SIGKILL" },
      "it cannot be locked (flock: SIGKILL)",
    ],
  ];

  test.each(cases)("%s", async (_what, script, mode, expected, text) => {
    if (script !== null) await writeFile(join(folder, "flock"), `#!/bin/sh\n${script}\n`, { mode });
    vi.stubEnv("PATH", folder);
    await using lock = await lockFolder(folder);
    const { flocked } = lock;
    expect(flocked).toEqual(expected);
    if (flocked.kind === "locked" || flocked.kind === "held") throw new Error(flocked.kind);
    expect(describeFailure(flocked).what).toBe(text);
  });
});
