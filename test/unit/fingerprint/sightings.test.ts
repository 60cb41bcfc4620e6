import { describe, expect, test } from "vitest";

import { sameStat } from "../../../src/fingerprint/sightings.ts";
import { RACY_MS, racyWindow_ms } from "../../../src/fingerprint/stat-cache.ts";
import type { FileStat } from "../../../src/platform/files.ts";

const STAT: FileStat = {
  kind: "file",
  device: 1n,
  inode: 2n,
  size_bytes: 3,
  mtime_ns: 4_000_000_001n,
  ctime_ns: 5_000_000_001n,
  mode: 0o644,
  user_id: 0,
  group_id: 0,
};

describe("sameStat", () => {
  const changes: readonly Partial<FileStat>[] = [
    { kind: "directory" },
    { device: 9n },
    { inode: 9n },
    { size_bytes: 9 },
    { mtime_ns: 9n },
    { ctime_ns: 9n },
  ];
  test.each(changes)("%o is another state of the file", (change) => {
    expect(sameStat(STAT, { ...STAT, ...change })).toBe(false);
  });

  test("equal in all that counts", () => {
    expect(sameStat(STAT, { ...STAT })).toBe(true);
  });
});

describe("racyWindow_ms", () => {
  test.each([
    [{}, RACY_MS],
    [{ mtime_ns: 4_000_000_000n }, 2000],
    [{ ctime_ns: 5_000_000_000n }, 2000],
  ])("%o → %i ms", (change, expected) => {
    expect(racyWindow_ms({ ...STAT, ...change })).toBe(expected);
  });
});
