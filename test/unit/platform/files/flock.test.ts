import { type FileHandle, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { describeFailure, flock } from "../../../../src/platform/files/flock.ts";

let folder = "";
let opened: FileHandle;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "flock-"));
  opened = await open(folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await opened.close();
  await rm(folder, { recursive: true });
});

test("flock: held by another open file → free after it is closed", async () => {
  const other = await open(folder);
  expect(await flock(other.fd)).toEqual({ kind: "locked" });
  expect(await flock(opened.fd)).toEqual({ kind: "held" });
  await other.close();
  expect(await flock(opened.fd)).toEqual({ kind: "locked" });
});

describe("flock: flock(1) fails", () => {
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
    const flocked = await flock(opened.fd);
    expect(flocked).toEqual(expected);
    if (flocked.kind === "locked" || flocked.kind === "held") throw new Error(flocked.kind);
    expect(describeFailure(flocked).what).toBe(text);
  });
});
