import { describe, expect, test } from "vitest";

import { RACY_MS, createObservations } from "../../../src/fingerprint/observations.ts";
import { type FileStat, sameStat, systemFiles } from "../../../src/platform/files/files.ts";
import { SteppedClock } from "./machine.ts";

const STAT: FileStat = {
  kind: "file",
  device: 1n,
  inode: 2n,
  sizeBytes: 3,
  mtimeNs: 4_000_000_001n,
  ctimeNs: 5_000_000_001n,
  mode: 0o644,
  userId: 0,
  groupId: 0,
};

describe("sameStat", () => {
  const changes: readonly Partial<FileStat>[] = [
    { kind: "directory" },
    { device: 9n },
    { inode: 9n },
    { sizeBytes: 9 },
    { mtimeNs: 9n },
    { ctimeNs: 9n },
  ];
  test.each(changes)("%o → another state of the file", (change) => {
    expect(sameStat(STAT, { ...STAT, ...change })).toBe(false);
  });

  test("relevant members equal → same state", () => {
    expect(sameStat(STAT, { ...STAT })).toBe(true);
  });
});

describe("observations: for how long a file has been unchanged", () => {
  const SECOND_NS = 1_000_000_000n;
  const NANOSECONDS = 5n * SECOND_NS + 1n;
  const WHOLE_SECOND = 5n * SECOND_NS;
  const EVEN_SECOND = 6n * SECOND_NS;

  /** @param ageMs time since the newer of both timestamps. */
  async function lookedAt(stamps: Partial<FileStat>, ageMs: number) {
    const stat = { ...STAT, ...stamps };
    const newestNs = stat.mtimeNs > stat.ctimeNs ? stat.mtimeNs : stat.ctimeNs;
    const clock = new SteppedClock();
    clock.setWall(Number(newestNs / 1_000_000n) + ageMs);
    const observations = createObservations({ clock, files: { ...systemFiles, stat: async () => stat } });
    await observations.look(["/file"], undefined);
    return { clock, observations };
  }

  test.each([
    ["nanoseconds", { mtimeNs: NANOSECONDS, ctimeNs: NANOSECONDS }, 3000],
    ["whole seconds: up to a second later than its timestamp", { mtimeNs: WHOLE_SECOND, ctimeNs: WHOLE_SECOND }, 2000],
    ["even seconds, as FAT has them: up to two", { mtimeNs: EVEN_SECOND, ctimeNs: EVEN_SECOND }, 1000],
    ["FAT, whose ctime is the creation", { mtimeNs: EVEN_SECOND, ctimeNs: WHOLE_SECOND + 10_000_000n }, 1000],
    ["a date in the future, on a file of today", { mtimeNs: EVEN_SECOND, ctimeNs: NANOSECONDS }, 3000],
    ["an older date put back on a file of today", { mtimeNs: 2n * SECOND_NS, ctimeNs: NANOSECONDS }, 3000],
  ])("%s", async (_what, stamps, quietMs) => {
    const { observations } = await lookedAt(stamps, 3000);
    expect(observations.quietMs("/file")).toBeCloseTo(quietMs, 0);
  });

  test.each([
    ["nanoseconds", { mtimeNs: NANOSECONDS, ctimeNs: NANOSECONDS }, RACY_MS],
    ["whole seconds", { mtimeNs: WHOLE_SECOND, ctimeNs: WHOLE_SECOND }, 3000],
    ["even seconds", { mtimeNs: EVEN_SECOND, ctimeNs: EVEN_SECOND }, 4000],
  ])("isTrustworthy: %s", async (_what, stamps, ageMs) => {
    const young = await lookedAt(stamps, ageMs - 1);
    expect(young.observations.isTrustworthy("/file")).toBe(false);
    const old = await lookedAt(stamps, ageMs + 1);
    expect(old.observations.isTrustworthy("/file")).toBe(true);
  });

  test("clock behind the timestamps → counted since the first observation", async () => {
    const { clock, observations } = await lookedAt({ mtimeNs: EVEN_SECOND, ctimeNs: EVEN_SECOND }, -1e9);
    expect(observations.quietMs("/file")).toBeLessThanOrEqual(0);
    clock.step(2500);
    await observations.look(["/file"], undefined);
    expect(observations.quietMs("/file")).toBe(500);
  });
});
