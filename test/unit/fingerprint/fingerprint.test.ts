import { execFileSync } from "node:child_process";
import { copyFile, link, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { createFingerprinter, type Fingerprinter } from "../../../src/fingerprint/fingerprint.ts";
import type { FileStat } from "../../../src/platform/files/files.ts";
import { digestByTools, digestOfFiles } from "../../support/robot/digest.ts";
import { LIMITS, REAL, SteppedClock, listed, meddledFiles, snapshotOf, temporaryFolder } from "./machine.ts";

/** Files old enough by the machine's clock to be read without waiting. */
async function robot(...contents: readonly (string | Uint8Array)[]) {
  const folder = await temporaryFolder();
  const paths = contents.map((_, index) => join(folder, `${index}.conf`));
  for (const [index, path] of paths.entries()) await writeFile(path, contents[index]!);
  const clock = new SteppedClock();
  clock.step(60_000);
  const files = meddledFiles();
  const fingerprinter = createFingerprinter({ files, clock }, LIMITS);
  return { folder, paths, clock, files, fingerprinter };
}

async function collect(fingerprinter: Fingerprinter, paths: readonly string[]) {
  return snapshotOf(await fingerprinter.collect(listed(...paths), { settle: true }));
}

describe("collect: digest", () => {
  const CHUNK = 512 * 1024;
  test.each([1, 4096, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7])(
    "a file of %i bytes → same hash as sha256sum",
    async (size) => {
      const bytes = Uint8Array.from({ length: size }, (_, index) => (index * 31 + (index >> 9)) % 251);
      const { paths, fingerprinter } = await robot(bytes, "small", bytes.subarray(0, size >> 1));
      const { digest, readBytes } = await collect(fingerprinter, paths.slice(0, 2));
      expect(digest).toBe(await digestByTools(...paths.slice(0, 2)));
      expect(readBytes).toBe(size + 5);
    },
  );

  test("no files → the digest of empty input", async () => {
    const { fingerprinter } = await robot();
    const { digest } = await collect(fingerprinter, []);
    expect(digest).toBe("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });

  test("scenario 20: depends on the order; not on path, name, time, inode, links or locale", async () => {
    const { folder, paths, fingerprinter } = await robot("left\n", "right\n");
    const [left, right] = [paths[0]!, paths[1]!];
    const { digest } = await collect(fingerprinter, [left, right]);

    const copy = join(folder, "ein größerer name");
    await copyFile(left, copy);
    await utimes(copy, 1, 2);
    const alias = join(folder, "alias");
    await symlink(right, alias);
    const twin = join(folder, "twin");
    await link(right, twin);
    expect((await collect(fingerprinter, [copy, alias])).digest).toBe(digest);
    expect((await collect(fingerprinter, [left, twin])).digest).toBe(digest);
    expect((await collect(fingerprinter, [right, left])).digest).not.toBe(digest);

    for (const LC_ALL of ["C", "tr_TR.UTF-8"]) {
      const command = 'sha256sum "$1" "$2" | cut -c1-64 | sha256sum';
      const options = { encoding: "utf8", env: { ...process.env, LC_ALL } } as const;
      expect(digest).toBe(`sha256:${execFileSync("sh", ["-c", command, "sh", left, right], options).slice(0, 64)}`);
    }
  });

  test("path listed twice → counts twice, is read once", async () => {
    const { paths, files, fingerprinter } = await robot("twice");
    const { digest } = await collect(fingerprinter, [paths[0]!, paths[0]!]);
    expect(digest).toBe(await digestOfFiles(paths[0]!, paths[0]!));
    expect(files.opened).toHaveLength(1);
  });
});

describe("collect: unchanged files are not read", () => {
  test("nothing changed → no file is opened", async () => {
    const { paths, files, fingerprinter } = await robot("a", "b", "c");
    const first = await collect(fingerprinter, paths);
    files.opened.length = 0;
    const second = await collect(fingerprinter, paths);
    expect(files.opened).toEqual([]);
    expect(second).toEqual({ ...first, readBytes: 0 });
  });

  test("one of three changed → only that one is read", async () => {
    const { paths, files, clock, fingerprinter } = await robot("a", "b", "c");
    await collect(fingerprinter, paths);
    files.opened.length = 0;
    await writeFile(paths[1]!, "changed");
    clock.step(60_000);
    const { readBytes, digest } = await collect(fingerprinter, paths);
    expect(files.opened).toEqual([paths[1]]);
    expect(readBytes).toBe(7);
    expect(digest).toBe(await digestOfFiles(...paths));
  });

  test("scenario 22: touch, or rewrite with the same content → same digest", async () => {
    const { folder, paths, clock, fingerprinter } = await robot("same", "other");
    const { digest } = await collect(fingerprinter, paths);
    const now = new Date();
    await utimes(paths[0]!, now, now);
    await writeFile(join(folder, "new"), "other");
    await rename(join(folder, "new"), paths[1]!);
    clock.step(60_000);
    expect((await collect(fingerprinter, paths)).digest).toBe(digest);
  });

  test("scenario 24: replacement with an older mtime → noticed", async () => {
    const { folder, paths, clock, fingerprinter } = await robot("new", "b");
    await collect(fingerprinter, paths);
    const backup = join(folder, "backup");
    await writeFile(backup, "old");
    await utimes(backup, 1_000_000_000, 1_000_000_000);
    await rename(backup, paths[0]!);
    clock.step(60_000);
    expect((await collect(fingerprinter, paths)).digest).toBe(await digestOfFiles(...paths));
  });

  test("scenario 24: overwrite of equal size with the old mtime restored → noticed", async () => {
    const { paths, clock, fingerprinter } = await robot("new", "b");
    await utimes(paths[0]!, 1_000_000_000.5, 1_000_000_000.5);
    const before = await stat(paths[0]!);
    const { digest } = await collect(fingerprinter, paths);
    await writeFile(paths[0]!, "odd");
    await utimes(paths[0]!, 1_000_000_000.5, 1_000_000_000.5);
    expect((await stat(paths[0]!)).mtimeMs).toBe(before.mtimeMs);
    clock.step(60_000);
    const after = await collect(fingerprinter, paths);
    expect(after.digest).not.toBe(digest);
    expect(after.digest).toBe(await digestOfFiles(...paths));
  });
});

describe("collect: trust in stats", () => {
  test("timestamps in seconds: second write within the second → noticed", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "fat.conf");
    const wholeSeconds = (ns: bigint) => (ns / 1_000_000_000n) * 1_000_000_000n;
    const changeStat = (seen: FileStat): FileStat => ({
      ...seen,
      mtimeNs: wholeSeconds(seen.mtimeNs),
      ctimeNs: wholeSeconds(seen.ctimeNs),
    });
    const files = meddledFiles({ changeStat });
    const fingerprinter = createFingerprinter({ ...REAL, files }, { ...LIMITS, settleMs: 0 });
    await writeFile(path, "first");
    const first = snapshotOf(await fingerprinter.collect(listed(path), { settle: false }));
    expect(first.files[0]?.trusted).toBe(false);
    expect(fingerprinter.isUnchanged(listed(path))).toBe(false);
    await writeFile(path, "other");
    const second = snapshotOf(await fingerprinter.collect(listed(path), { settle: false }));
    expect(second.digest).toBe(await digestOfFiles(path));
  });

  test.each([
    ["nanoseconds, by the wall clock", 1.5, 30, true],
    ["whole seconds, young", 1000, 2500, false],
    ["whole seconds, old: the last write may be a second later than its timestamp", 1000, 3500, true],
    ["even seconds, young", 0, 3500, false],
    ["even seconds, old: the last write may be two seconds later than its timestamp", 0, 4500, true],
  ])("%s", async (_what, fraction, ageMs, trusted) => {
    const folder = await temporaryFolder();
    const path = join(folder, "x.conf");
    await writeFile(path, "x");
    const clock = new SteppedClock();
    const base = BigInt(Math.floor(clock.wallMs() / 2000)) * 2_000_000_000n + BigInt(fraction * 1e6);
    const files = meddledFiles({ changeStat: (seen) => ({ ...seen, mtimeNs: base, ctimeNs: base }) });
    clock.setWall(Number(base / 1_000_000n) + ageMs);
    const fingerprinter = createFingerprinter({ files, clock }, LIMITS);
    const { files: hashed } = snapshotOf(await fingerprinter.collect(listed(path), { settle: false }));
    expect(hashed[0]?.trusted).toBe(trusted);
    files.opened.length = 0;
    await fingerprinter.collect(listed(path), { settle: false });
    expect(files.opened).toHaveLength(trusted ? 0 : 1);
  });

  test("whole seconds: same stat observed for more than two seconds → trusted", async () => {
    const { paths, clock, fingerprinter } = await robot("x");
    await utimes(paths[0]!, 4_000_000_000, 4_000_000_000);
    expect((await fingerprinter.collect(listed(paths[0]!), { settle: true })).kind).toBe("unsettled");
    clock.step(1000);
    expect((await collect(fingerprinter, paths)).files[0]?.trusted).toBe(false);
    clock.step(1500);
    expect((await collect(fingerprinter, paths)).files[0]?.trusted).toBe(true);
    expect((await collect(fingerprinter, paths)).readBytes).toBe(0);
  });

  test("file written just now → read after a pause of 21 ms", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "x.conf");
    const clock = new SteppedClock();
    await writeFile(path, "x");
    const fingerprinter = createFingerprinter({ ...REAL, clock }, LIMITS);
    const { files } = snapshotOf(await fingerprinter.collect(listed(path), { settle: false }));
    expect(clock.sleepsMs).toHaveLength(1);
    expect(clock.sleepsMs[0]).toBeLessThanOrEqual(21);
    expect(files[0]?.trusted).toBe(true);
  });
});

describe("remember", () => {
  test("hash of another process, stat matches → not read again", async () => {
    const { paths, files, clock, fingerprinter } = await robot("a", "b");
    const { files: hashed, digest } = await collect(fingerprinter, paths);
    const restarted = createFingerprinter({ files, clock }, LIMITS);
    restarted.remember(hashed);
    files.opened.length = 0;
    expect(restarted.isUnchanged(listed(...paths))).toBe(true);
    expect(await collect(restarted, paths)).toMatchObject({ digest, readBytes: 0 });
    expect(files.opened).toEqual([]);
  });

  test("one file changed → all are read", async () => {
    const { paths, files, clock, fingerprinter } = await robot("a", "b", "c");
    const { files: hashed } = await collect(fingerprinter, paths);
    const restarted = createFingerprinter({ files, clock }, LIMITS);
    restarted.remember([hashed[0]!, hashed[1]!, { ...hashed[2]!, trusted: false, sha256: "0".repeat(64) }]);
    await writeFile(paths[0]!, "changed unobserved");
    clock.step(60_000);
    files.opened.length = 0;
    expect(restarted.isUnchanged(listed(...paths))).toBe(false);
    expect((await collect(restarted, paths)).digest).toBe(await digestOfFiles(...paths));
    expect(files.opened.toSorted()).toEqual(paths);
  });

  test("clock at 1970, unchanged files → no wait", async () => {
    const { paths, files, clock, fingerprinter } = await robot("a");
    const { files: hashed } = await collect(fingerprinter, paths);
    const clockless = new SteppedClock();
    clockless.setWall(0);
    const restarted = createFingerprinter({ files, clock: clockless }, LIMITS);
    restarted.remember(hashed);
    expect(await restarted.collect(listed(...paths), { settle: true })).toMatchObject({
      kind: "snapshot",
      snapshot: { readBytes: 0 },
    });
    expect(clock.sleepsMs).toEqual([]);
  });
});

/** Two settled and hashed files; then one changes its content but not its stat. */
async function betrayed() {
  const { paths, clock, fingerprinter } = await robot("first", "other");
  const { files: hashed, digest } = await collect(fingerprinter, paths);
  const stats = new Map(hashed.map(({ stat: known }) => [known.inode, known]));
  const frozen = meddledFiles({ changeStat: (seen) => stats.get(seen.inode) ?? seen });
  await writeFile(paths[0]!, "FIRST");
  const restarted = createFingerprinter({ files: frozen, clock }, LIMITS);
  restarted.remember(hashed);
  return { paths, digest, clock, files: frozen, fingerprinter: restarted };
}

const NEVER = new AbortController().signal;

describe("reread, invalidate", () => {
  test("inherited hashes → valid while all stats match; all files are read before a new digest", async () => {
    const { paths, digest, files, fingerprinter } = await betrayed();
    expect((await collect(fingerprinter, paths)).digest).toBe(digest);
    await writeFile(`${paths[1]}.new`, "new");
    await rename(`${paths[1]}.new`, paths[1]!);
    expect(snapshotOf(await fingerprinter.collect(listed(...paths), { settle: false })).digest).toBe(
      await digestOfFiles(...paths),
    );
    expect(files.opened.toSorted()).toEqual(paths);
  });

  test("invalidate: isUnchanged is false until every file is read again", async () => {
    const { paths, fingerprinter } = await betrayed();
    fingerprinter.invalidate();
    expect(fingerprinter.isUnchanged(listed(...paths))).toBe(false);
    expect((await collect(fingerprinter, paths)).digest).toBe(await digestOfFiles(...paths));
  });

  test("reread: returns the file whose content changed, and the next collect reads it", async () => {
    const { paths, files, fingerprinter } = await betrayed();
    expect(await fingerprinter.reread("inherited", NEVER)).toEqual([paths[0]]);
    expect(fingerprinter.isUnchanged(listed(...paths))).toBe(false);
    files.opened.length = 0;
    expect((await collect(fingerprinter, paths)).digest).toBe(await digestOfFiles(...paths));
    expect(files.opened).toEqual([paths[0]]);
  });

  test("reread: of files that this process has read, the smallest up to 16 MiB in all, or all", async () => {
    const mebibytes = (count: number) => new Uint8Array(count * 1024 * 1024);
    const { paths, files, fingerprinter } = await robot(mebibytes(13), mebibytes(3), mebibytes(10), "a");
    const [, three, ten, tiny] = paths;
    await collect(fingerprinter, paths);
    for (const [scope, read] of [
      ["inherited", []],
      ["small", [three, ten, tiny]],
      ["all", paths],
    ] as const) {
      files.opened.length = 0;
      expect(await fingerprinter.reread(scope, NEVER)).toEqual([]);
      expect(files.opened.toSorted()).toEqual(read);
    }
    expect(fingerprinter.isUnchanged(listed(...paths))).toBe(true);
  });

  test("reread: returns a file that cannot be read any more", async () => {
    let isBroken = false;
    const { paths, clock } = await robot("a", "b");
    const files = meddledFiles({
      beforeRead(path) {
        if (isBroken && path === paths[1]) throw Object.assign(new Error("EIO"), { code: "EIO" });
      },
    });
    const fingerprinter = createFingerprinter({ files, clock }, LIMITS);
    await collect(fingerprinter, paths);
    isBroken = true;
    expect(await fingerprinter.reread("all", NEVER)).toEqual([paths[1]]);
    expect(fingerprinter.isUnchanged(listed(...paths))).toBe(false);
  });

  test("reread: does not return a file whose edit or removal its stat shows", async () => {
    const { paths, fingerprinter } = await robot("a", "b", "c");
    await collect(fingerprinter, paths);
    await writeFile(paths[0]!, "edited");
    await rm(paths[1]!);
    expect(await fingerprinter.reread("all", NEVER)).toEqual([]);
    expect(fingerprinter.isUnchanged(listed(...paths))).toBe(false);
  });

  test("reread: reads slowly, and ends when the signal aborts", async () => {
    const { paths, clock, files, fingerprinter } = await robot(new Uint8Array(4 * 1024 * 1024));
    await collect(fingerprinter, paths);
    const beforeMs = clock.monotonicMs();
    await fingerprinter.reread("all", NEVER);
    expect(clock.monotonicMs() - beforeMs).toBeCloseTo(500);
    const reason = new Error("stop");
    await expect(fingerprinter.reread("all", AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(files.open).toBe(0);
  });
});

describe("isUnchanged", () => {
  test("false before the first snapshot", async () => {
    const { paths, fingerprinter } = await robot("a");
    expect(fingerprinter.isUnchanged(listed(...paths))).toBe(false);
  });

  const changes: readonly (readonly [
    string,
    boolean,
    (paths: readonly string[]) => Promise<unknown> | readonly string[],
  ])[] = [
    ["nothing happened", true, (paths) => paths],
    ["a file was written", false, (paths) => writeFile(paths[0]!, "b")],
    ["a file was touched", false, (paths) => utimes(paths[1]!, 1, 1)],
    [
      "a file was replaced by a copy",
      false,
      async (paths) => {
        await copyFile(paths[0]!, `${paths[0]}.copy`);
        await rename(`${paths[0]}.copy`, paths[0]!);
      },
    ],
    ["a file is gone", false, (paths) => rm(paths[0]!)],
    ["the order is another one", false, (paths) => paths.toReversed()],
    ["a file was taken off the list", false, (paths) => paths.slice(1)],
    ["a file was added to the list", false, (paths) => [...paths, "/etc/hostname"]],
  ];

  test.each(changes)("%s → %s", async (_what, expected, change) => {
    const { paths, fingerprinter } = await robot("a", "b");
    await collect(fingerprinter, paths);
    const changed = await change(paths);
    expect(fingerprinter.isUnchanged(listed(...(Array.isArray(changed) ? changed : paths)))).toBe(expected);
  });
});

describe("collect: progress and abort", () => {
  test("progress → grows to the total", async () => {
    const { paths, fingerprinter } = await robot(new Uint8Array(3_000_000), new Uint8Array(1000));
    const calls: (readonly [number, number])[] = [];
    await fingerprinter.collect(listed(...paths), { settle: true, onProgress: (...call) => calls.push(call) });
    expect(calls.length).toBeGreaterThan(5);
    expect(calls.map(([done]) => done)).toEqual(calls.map(([done]) => done).toSorted((a, b) => a - b));
    expect(calls.at(-1)).toEqual([3_001_000, 3_001_000]);
    expect(new Set(calls.map(([, total]) => total))).toEqual(new Set([3_001_000]));
  });

  test("abort before the first check → reads nothing", async () => {
    const { paths, files, fingerprinter } = await robot("a");
    const reason = new Error("stop");
    await expect(
      fingerprinter.collect(listed(...paths), { settle: true, signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
    expect(files.opened).toEqual([]);
  });

  test("abort during a read → ends, every file is closed", async () => {
    const { paths, files, fingerprinter } = await robot(...Array.from({ length: 6 }, () => new Uint8Array(4_000_000)));
    const aborter = new AbortController();
    const reason = Object.assign(new Error("stop"), { code: "SIGTERM" });
    let doneBytes = 0;
    const onProgress = (done: number) => {
      doneBytes = done;
      if (done > 2_000_000) aborter.abort(reason);
    };
    await expect(
      fingerprinter.collect(listed(...paths), { settle: true, signal: aborter.signal, onProgress }),
    ).rejects.toBe(reason);
    expect(doneBytes).toBeLessThan(8_000_000);
    expect(files.open).toBe(0);
    expect((await collect(fingerprinter, paths)).digest).toBe(await digestOfFiles(...paths));
  });

  test("abort during the only file → rejects with the reason, no finding", async () => {
    const { paths, fingerprinter } = await robot(new Uint8Array(4_000_000));
    const aborter = new AbortController();
    const reason = Object.assign(new Error("stop"), { code: "ABORT_ERR" });
    const onProgress = () => aborter.abort(reason);
    await expect(
      fingerprinter.collect(listed(...paths), { settle: true, signal: aborter.signal, onProgress }),
    ).rejects.toBe(reason);
  });

  test("many files → few are open at a time", async () => {
    const { paths, files, fingerprinter } = await robot(...Array.from({ length: 64 }, (_, index) => `file ${index}`));
    await collect(fingerprinter, paths);
    expect(files.opened).toHaveLength(64);
    expect(files.mostOpen).toBeLessThanOrEqual(3);
    expect(files.open).toBe(0);
  });
});
