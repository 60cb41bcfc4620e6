import { execFileSync } from "node:child_process";
import { copyFile, link, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { createLook } from "../../../src/look/look.ts";
import type { FileStat } from "../../../src/platform/files/files.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import { type Interference, lookAround, meddledFiles, OLD_MS, type Robot, robot, snapshotNow } from "./machine.ts";

const NEVER = new AbortController().signal;
const THREE = { a: "first", b: "other", c: "third" };

function mebibytes(count: number): Uint8Array {
  return new Uint8Array(count * 1024 * 1024);
}

describe("digest", () => {
  test("scenario 20: depends on the order; not on path, name, time, inode, links or locale", async () => {
    const { folder, paths, path: left, other: right } = await robot({ left: "left\n", right: "right\n" });
    const { digest } = await snapshotNow(paths);
    const [copy, alias, twin] = [join(folder, "ein größerer name"), join(folder, "alias"), join(folder, "twin")];
    await copyFile(left, copy);
    await utimes(copy, 1, 2);
    await symlink(right, alias);
    await link(right, twin);
    expect((await snapshotNow([copy, alias])).digest).toBe(digest);
    expect((await snapshotNow([left, twin])).digest).toBe(digest);
    expect((await snapshotNow([right, left])).digest).not.toBe(digest);

    for (const LC_ALL of ["C", "tr_TR.UTF-8"]) {
      const command = 'sha256sum "$1" "$2" | cut -c1-64 | sha256sum';
      const options = { encoding: "utf8", env: { ...process.env, LC_ALL } } as const;
      expect(digest).toBe(`sha256:${execFileSync("sh", ["-c", command, "sh", left, right], options).slice(0, 64)}`);
    }
  });

  test("path listed twice → counts twice, is read once", async () => {
    const { path, files, look } = await robot();
    expect((await look.take([path, path])).digest).toBe(await digestOfFiles(path, path));
    expect(files.opened).toHaveLength(1);
  });

  test("scenario 22: touch, or rewrite with the same content → same digest", async () => {
    const { folder, paths, path, other, clock, look, confirmed } = await robot(THREE);
    const { digest } = await confirmed();
    await utimes(path, new Date(), new Date());
    await writeFile(join(folder, "new"), "other");
    await rename(join(folder, "new"), other);
    await look.collect(paths);
    clock.step(500);
    expect((await look.take(paths)).digest).toBe(digest);
  });

  test.each([
    [
      "replacement with an older mtime",
      async (path: string) => {
        await writeFile(`${path}.old`, "old");
        await utimes(`${path}.old`, 1e9, 1e9);
        await rename(`${path}.old`, path);
      },
    ],
    [
      "overwrite of equal size with the old mtime restored",
      async (path: string) => {
        const { mtimeMs } = await stat(path);
        await writeFile(path, "FIRST");
        await utimes(path, mtimeMs / 1000, mtimeMs / 1000);
      },
    ],
  ])("scenario 24: %s → noticed", async (_what, change) => {
    const { paths, path, clock, look, confirmed } = await robot(THREE);
    await utimes(path, 1.5, 1.5);
    const { digest } = await confirmed();
    await change(path);
    await look.collect(paths);
    clock.step(2500);
    const after = await look.take(paths);
    expect(after.digest).not.toBe(digest);
    expect(after.digest).toBe(await digestOfFiles(...paths));
  });
});

describe("what is read", () => {
  test("a file is trusted 2 s after it was first seen, whatever the wall clock says: until then each look reads it once", async () => {
    const { paths, clock, files, look } = await robot(THREE);
    const openedBy = async () => {
      files.opened.length = 0;
      await look.take(paths);
      return files.opened.length;
    };
    expect(look.confirmDueMs()).toBe(Number.POSITIVE_INFINITY);
    const seenMs = clock.monotonicMs();
    expect(await openedBy()).toBe(3);
    expect(look.confirmDueMs()).toBe(seenMs + 2000);
    expect(await look.isUnchanged(paths)).toBe(false);
    clock.step(1999);
    clock.setWall(4e12);
    expect(await openedBy()).toBe(3);
    expect(await look.isUnchanged(paths)).toBe(false);
    clock.step(1);
    expect(await openedBy()).toBe(3);
    expect([await openedBy(), look.confirmDueMs(), await look.isUnchanged(paths)]).toEqual([
      0,
      Number.POSITIVE_INFINITY,
      true,
    ]);
  });

  test("timestamps in even seconds: second write within them → noticed", async () => {
    const frozen: Interference = {
      changeStat: (seen) => ({ ...seen, mtimeNs: 2_000_000_000n, ctimeNs: 2_000_000_000n }),
    };
    const { paths, path, clock, look } = await robot(THREE, frozen);
    await look.take(paths);
    clock.step(1999);
    await writeFile(path, "FIRST");
    expect((await look.take(paths)).digest).toBe(await digestOfFiles(...paths));
  });

  test("one of three changed → only that one is read", async () => {
    const { paths, other, files, clock, look, confirmed } = await robot(THREE);
    const { files: before } = await confirmed();
    await writeFile(other, "changed");
    await look.collect(paths);
    clock.step(500);
    files.opened.length = 0;
    const { readBytes, digest, files: after } = await look.take(paths);
    expect([files.opened, readBytes, digest]).toEqual([[other], 7, await digestOfFiles(...paths)]);
    expect([after[0], after[2]]).toEqual([before[0], before[2]]);
  });

  test("content is kept only for those who ask for it, also when the path is asked for twice or was read without", async () => {
    const { path, files, clock } = await robot({ "a.json": "[1]" });
    const look = createLook({ files, clock });
    const contentOf = async (...requests: Parameters<typeof look.at>[0]) => {
      const looked = await look.at(requests, 0, { settle: false });
      const found = looked.kind === "looked" ? looked.found.get(path) : null;
      return found?.kind === "read" ? found.content?.toString() : found?.kind;
    };
    const file = { path, limitBytes: 100, complete: true };
    expect(await contentOf(file)).toBeUndefined();
    clock.step(2000);
    await contentOf(file);
    const document = { path, limitBytes: 3, keep: true };
    expect(await contentOf(document)).toBe("[1]");
    await writeFile(path, "[2]");
    expect(await contentOf(document)).toBe("[2]");
    clock.step(2000);
    expect(await contentOf(document)).toBe("[2]");
    expect(await contentOf(document, file)).toBe("[2]");
    expect(await look.at([document, file], 0, { settle: false })).toMatchObject({
      found: new Map([[path, { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }]]),
    });
    await writeFile(path, "[10]");
    expect(await contentOf(document, file)).toBe("unsuitable");
  });

  test.each([
    ["abort before the first stat", new Error("stop"), 0],
    ["abort during a read", Object.assign(new Error("stop"), { code: "ABORT_ERR" }), 2_000_000],
  ])("%s → rejects with the reason, every file is closed", async (_what, reason, atBytes) => {
    const { paths, files, look } = await robot(
      Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, mebibytes(4)])),
    );
    const aborter = new AbortController();
    let doneBytes = 0;
    const onProgress = (done: number) => {
      doneBytes = done;
      if (done > atBytes) aborter.abort(reason);
    };
    if (atBytes === 0) aborter.abort(reason);
    await expect(look.collect(paths, { signal: aborter.signal, onProgress })).rejects.toBe(reason);
    expect(files.open).toBe(0);
    expect(doneBytes).toBeLessThan(8_000_000);
    expect((await look.take(paths)).digest).toBe(await digestOfFiles(...paths));
  });

  test("progress → grows to the total", async () => {
    const { paths, look } = await robot({ a: new Uint8Array(3_000_000), b: new Uint8Array(1000) });
    const calls: (readonly [number, number])[] = [];
    await look.take(paths, { onProgress: (...call) => calls.push(call) });
    const done = calls.map(([bytes]) => bytes);
    expect(done.length).toBeGreaterThan(5);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    expect(calls.at(-1)).toEqual([3_001_000, 3_001_000]);
    expect(new Set(calls.map(([, total]) => total))).toEqual(new Set([3_001_000]));
  });
});

describe("isUnchanged", () => {
  test.each<[what: string, expected: boolean, change: (robot: Robot) => unknown]>([
    ["nothing happened", true, () => {}],
    ["a file was written", false, ({ path }) => writeFile(path, "b")],
    ["a file was touched", false, ({ path }) => utimes(path, 1, 1)],
    [
      "a file was replaced by a copy",
      false,
      ({ path }) => copyFile(path, `${path}.copy`).then(() => rename(`${path}.copy`, path)),
    ],
    ["a file is gone", false, ({ path }) => rm(path)],
    ["everything is to be read again", false, ({ look }) => look.invalidate()],
    ["the file was off the list", false, ({ look }) => look.retain([])],
  ])("%s → %s", async (_what, expected, change) => {
    const unchanged = await robot(THREE);
    await unchanged.confirmed();
    await change(unchanged);
    expect(await unchanged.look.isUnchanged(unchanged.paths)).toBe(expected);
  });

  test("a missing file → true while it is missing; a file that was never looked at → false", async () => {
    const { path, clock, look } = await robot();
    expect(await look.isUnchanged([path])).toBe(false);
    await rm(path);
    clock.step(500);
    await look.collect([path], { settle: false });
    expect(await look.isUnchanged([path])).toBe(true);
    await writeFile(path, "{}");
    expect(await look.isUnchanged([path])).toBe(false);
  });
});

/** A restarted agent, which remembers what the earlier one read. Its disk may then show the old stats whatever the files hold. */
async function restarted(isFrozen = false) {
  const { paths, path, other, third, clock, confirmed } = await robot(THREE);
  const { files: hashed, digest } = await confirmed();
  const stats = new Map(hashed.map(({ stat: known }) => [known.inode, known]));
  const files = meddledFiles(isFrozen ? { changeStat: (seen: FileStat) => stats.get(seen.inode) ?? seen } : {});
  const look = lookAround({ files, clock });
  look.remember(hashed);
  return { paths, path, other, third, digest, hashed, files, clock, look };
}

describe("hashes of an earlier process", () => {
  test("all stats match → nothing is read and nothing waited for, also with a clock at 1970", async () => {
    const { paths, digest, files, clock, look } = await restarted();
    clock.setWall(0);
    expect(await look.isUnchanged(paths)).toBe(true);
    expect(await look.take(paths)).toMatchObject({ digest, readBytes: 0 });
    expect(files.opened).toEqual([]);
  });

  test("one stat differs → all files are read, because another disk may hold the others", async () => {
    const { paths, path, files, clock, look } = await restarted(true);
    await writeFile(`${path}.new`, "changed");
    await rename(`${path}.new`, path);
    await writeFile(paths[1] ?? "", "OTHER");
    clock.step(OLD_MS);
    expect(await look.isUnchanged(paths)).toBe(false);
    expect((await look.take(paths)).digest).toBe(await digestOfFiles(...paths));
    expect(files.opened.toSorted()).toEqual(paths);
  });

  test("invalidate: every file is read again", async () => {
    const { paths, path, look } = await restarted(true);
    await writeFile(path, "FIRST");
    look.invalidate();
    expect((await look.take(paths)).digest).toBe(await digestOfFiles(...paths));
  });
});

describe("verify", () => {
  test("content changed without a change of the stat → returned, and the next look reads it", async () => {
    const { paths, path, digest, files, look } = await restarted(true);
    await writeFile(path, "FIRST");
    expect((await look.take(paths)).digest).toBe(digest);
    expect(await look.verify(Infinity, NEVER)).toEqual([path]);
    expect(await look.isUnchanged(paths)).toBe(false);
    files.opened.length = 0;
    expect((await look.take(paths)).digest).toBe(await digestOfFiles(...paths));
    // The others were verified, so they may be part of a new digest.
    expect(files.opened).toEqual([path]);
    expect(await look.verify(Infinity, NEVER)).toEqual([]);
  });

  test("the smallest files up to a limit in all, or all", async () => {
    const { paths, files, look, confirmed } = await robot({
      a: mebibytes(13),
      b: mebibytes(3),
      c: mebibytes(10),
      d: "a",
    });
    await confirmed();
    for (const [limitBytes, read] of [
      [0, []],
      [16 * 1024 * 1024, paths.slice(1)],
      [Infinity, paths],
    ] as const) {
      files.opened.length = 0;
      expect(await look.verify(limitBytes, NEVER)).toEqual([]);
      expect(files.opened.toSorted()).toEqual(read);
    }
    expect(await look.isUnchanged(paths)).toBe(true);
  });

  test("a file that cannot be read any more → returned; one whose edit or removal its stat shows → not", async () => {
    let isBroken = false;
    const { paths, path, other, third, look, confirmed } = await robot(THREE, {
      beforeRead(each) {
        if (isBroken && each.endsWith("c")) throw Object.assign(new Error("EIO"), { code: "EIO" });
      },
    });
    await confirmed();
    isBroken = true;
    await writeFile(path, "edited");
    await rm(other);
    expect(await look.verify(Infinity, NEVER)).toEqual([third]);
    expect(await look.isUnchanged(paths)).toBe(false);
  });

  test("a document, which has no hash: unchanged → nothing; other content → returned, and the next look reads it", async () => {
    const stats = new Map<bigint, FileStat>();
    const { path, files, clock } = await robot({ a: "first" }, { changeStat: (seen) => stats.get(seen.inode) ?? seen });
    const look = createLook({ files, clock });
    const read = async () => {
      const looked = await look.at([{ path, limitBytes: 100, keep: true }], 0, { settle: false });
      const found = looked.kind === "looked" ? looked.found.get(path) : undefined;
      if (found?.kind !== "read") throw new Error("it was not read");
      return found;
    };
    const before = await read();
    stats.set(before.stat.inode, before.stat);
    clock.step(2000);
    expect([before.sha256, (await read()).content?.toString()]).toEqual([null, "first"]);
    expect(await look.verify(Infinity, NEVER)).toEqual([]);
    await writeFile(path, "FIRST");
    expect((await read()).content?.toString()).toBe("first");
    expect(await look.verify(Infinity, NEVER)).toEqual([path]);
    expect((await read()).content?.toString()).toBe("FIRST");
  });

  test("a look that reads the file meanwhile → its hash stays", async () => {
    let meanwhile = async () => {};
    const stats = new Map<bigint, FileStat>();
    const { paths, path, look, confirmed } = await robot(THREE, {
      changeStat: (seen) => stats.get(seen.inode) ?? seen,
      beforeOpen: () => meanwhile(),
    });
    for (const { stat: known } of (await confirmed()).files) stats.set(known.inode, known);
    meanwhile = async () => {
      meanwhile = async () => {};
      await writeFile(path, "FIRST");
      look.invalidate();
      await look.take(paths);
    };
    expect(await look.verify(Infinity, NEVER)).toEqual([]);
    expect(await look.isUnchanged(paths)).toBe(true);
    expect((await look.take(paths)).digest).toBe(await digestOfFiles(...paths));
  });

  test("reads slowly, and ends when the signal aborts", async () => {
    const { clock, files, look, confirmed } = await robot({ a: mebibytes(4) });
    await confirmed();
    const beforeMs = clock.monotonicMs();
    await look.verify(Infinity, NEVER);
    expect(clock.monotonicMs() - beforeMs).toBeCloseTo(500);
    const reason = new Error("stop");
    await expect(look.verify(Infinity, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(files.open).toBe(0);
  });
});
