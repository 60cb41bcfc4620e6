/** Programs with a file open for writing. The test process is one itself, because /proc shows its own open files like all others. */
import { appendFile, type FileHandle, open, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { createFingerprinter } from "../../../src/fingerprint/fingerprint.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import { LIMITS, listed, robot, snapshotOf, waitOf } from "./machine.ts";

/** A file that stays open until the test closes it or ends. */
async function hold(path: string, flags: string): Promise<FileHandle> {
  const file = await open(path, flags);
  onTestFinished(() => file.close());
  return file;
}

/** A robot whose registered file is half-written by a program that still has it open. */
async function robotWithWriter() {
  const site = await robot(["90-arm.rules"], 'KERNEL=="a"\nKERNEL=="b"\n');
  snapshotOf(await site.collect());
  const writer = await hold(site.path, "w");
  await writer.write('KERNEL=="c"\n');
  await site.passSince(site.path, 501);
  return { ...site, writer };
}

describe("collect: a file that a program has open for writing", () => {
  test("is not hashed while it is open, but at once when it is closed", async () => {
    const { path, clock, writer, collect, passSince } = await robotWithWriter();
    expect(await collect()).toEqual({ kind: "unsettled", waitMs: 500, paths: [path] });
    clock.step(12_000);
    expect((await collect()).kind).toBe("unsettled");
    await writer.write('KERNEL=="d"\n');
    await passSince(path, 501);
    expect((await collect()).kind).toBe("unsettled");
    await writer.close();
    const collected = await collect();
    expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
    expect(collected).toMatchObject({ warnings: [] });
  });

  test("is found through the links of the manifest", async () => {
    const { folder, path, clock, files, passSince } = await robot();
    await symlink("a.conf", join(folder, "..data"));
    await symlink(join(folder, "..data"), join(folder, "link.rules"));
    const writer = await hold(path, "r+");
    await writer.write("half");
    await passSince(path, 501);
    const fingerprinter = createFingerprinter({ files, clock }, LIMITS);
    expect((await fingerprinter.collect(listed(join(folder, "link.rules")), { settle: true })).kind).toBe("unsettled");
  });

  test("is checked less often the longer it stays open", async () => {
    const { clock, collect } = await robotWithWriter();
    const waitsMs: number[] = [];
    for (let waitedMs = 0; waitedMs < 50_000; waitedMs += waitsMs.at(-1) ?? 0) {
      waitsMs.push(waitOf(await collect()));
      clock.step(waitsMs.at(-1) ?? 0);
    }
    expect(waitsMs[0]).toBe(500);
    expect(waitsMs.length).toBeLessThan(40);
    expect(Math.max(...waitsMs)).toBeLessThan(60_000 / 8);
  });

  test("is hashed after a minute with a warning, then whenever it has settled; after it was closed, it is waited for again", async () => {
    const { path, clock, writer, collect, passSince, fingerprinter } = await robotWithWriter();
    await collect();
    clock.step(59_999);
    expect(waitOf(await collect())).toBe(1);
    clock.step(1);
    const collected = await collect();
    expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
    expect(collected).toMatchObject({
      warnings: [
        {
          id: "file_held_open",
          severity: "warning",
          path,
          index: 0,
          message: expect.stringContaining(`process ${process.pid} has it open for writing`),
        },
      ],
    });
    // The resync checks again until the program has closed the file.
    expect(fingerprinter.isUnchanged(listed(path))).toBe(false);

    await writer.write("another\n");
    await passSince(path, 501);
    expect(await collect()).toMatchObject({ kind: "snapshot", warnings: [{ id: "file_held_open" }] });
    expect(await collect()).toMatchObject({ kind: "snapshot", warnings: [{ id: "file_held_open" }] });

    await writer.close();
    expect(await collect()).toMatchObject({ kind: "snapshot", warnings: [] });
    expect(fingerprinter.isUnchanged(listed(path))).toBe(true);

    const next = await hold(path, "a");
    await next.write("more\n");
    await passSince(path, 501);
    expect((await collect()).kind).toBe("unsettled");
  });

  test("scenario 28: keeps changing → waited for once, then hashed once per grace", async () => {
    const { path, clock, collect, passSince } = await robot();
    const writer = await hold(path, "a");
    const takenMs: number[] = [];
    for (let elapsedMs = 0; elapsedMs <= 75_000; elapsedMs += 250) {
      await writer.write(`state ${elapsedMs}\n`);
      await passSince(path, 0);
      const collected = await collect();
      if (collected.kind === "snapshot") {
        expect(collected.warnings.map(({ id }) => id)).toEqual(["file_restless"]);
        takenMs.push(elapsedMs);
      }
      clock.step(250);
    }
    expect(takenMs).toEqual([60_000, 70_250]);
  });

  test.each([
    ["a program that reads it", (path: string) => hold(path, "r")],
    [
      "a program that writes another file with this name",
      async (path: string) => {
        await systemFiles.makeDirectory(`${path}.d/a.conf`, 0o755);
        await rm(`${path}.d/a.conf`, { recursive: true });
        return hold(`${path}.d/a.conf`, "w");
      },
    ],
    [
      "a program that writes the previous file at this path",
      async (path: string) => {
        const file = await hold(path, "r+");
        await writeFile(`${path}.tmp`, "new");
        await rename(`${path}.tmp`, path);
        return file;
      },
    ],
  ])("opened by %s → not waited for", async (_what, open) => {
    const { path, collect, passSince } = await robot();
    await collect();
    await writeFile(path, "changed");
    await open(path);
    await passSince(path, 501);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });

  test("replaced by a rename → no longer waited for", async () => {
    const { path, collect, passSince } = await robotWithWriter();
    expect((await collect()).kind).toBe("unsettled");
    await writeFile(`${path}.tmp`, "whole");
    await rename(`${path}.tmp`, path);
    await passSince(path, 300);
    expect(waitOf(await collect())).toBe(200);
    await passSince(path, 501);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });

  test("long settle time → checked again once it has settled", async () => {
    const { paths, path, clock, files, passSince } = await robot();
    const fingerprinter = createFingerprinter({ files, clock }, { ...LIMITS, settleMs: 5000 });
    const collect = () => fingerprinter.collect(listed(...paths), { settle: true });
    const writer = await hold(path, "w");
    await passSince(path, 0);
    expect(waitOf(await collect())).toBe(5000);
    clock.step(2000);
    await writer.write("whole");
    await writer.close();
    await passSince(path, 3000);
    expect(waitOf(await collect())).toBe(2000);
    clock.step(2000);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });

  test("temporarily off the list → waited for again", async () => {
    const { folder, path, clock, collect, fingerprinter } = await robotWithWriter();
    expect(waitOf(await collect())).toBe(500);
    clock.step(1000);
    await writeFile(join(folder, "b.conf"), "other");
    await fingerprinter.collect(listed(join(folder, "b.conf")), { settle: true });
    clock.step(55_000);
    expect(await collect()).toEqual({ kind: "unsettled", waitMs: 500, paths: [path] });
  });

  test("removed → reported missing after the settle time", async () => {
    const { path, clock, collect } = await robotWithWriter();
    await collect();
    clock.step(30_000);
    await collect();
    await rm(path);
    clock.step(waitOf(await collect()));
    expect(await collect()).toMatchObject({ kind: "refused", findings: [{ id: "file_missing" }] });
  });

  test("closed right before the search for writers → hashed only after the settle time", async () => {
    const { path, files, writer, clock, collect, passSince } = await robotWithWriter();
    let isWriting = true;
    files.list = async (directory) => {
      if (isWriting) {
        isWriting = false;
        await writer.write('KERNEL=="d"\n');
        await writer.close();
        await passSince(path, 0);
      }
      return systemFiles.list(directory);
    };
    expect(waitOf(await collect())).toBe(500);
    clock.step(500);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });
});

describe("collect: which processes are searched for open files", () => {
  /** Counts the searches. */
  async function countingRobot() {
    const site = await robot();
    let looks = 0;
    site.files.list = async (directory) => {
      if (directory === "/proc") looks += 1;
      return systemFiles.list(directory);
    };
    return { ...site, looks: () => looks };
  }

  test("none: file unchanged for a minute, known file, or without `settle`", async () => {
    const { path, clock, fingerprinter, collect, passSince, looks } = await countingRobot();
    await passSince(path, 60_000);
    for (let times = 0; times < 2; times++) snapshotOf(await collect());
    await appendFile(path, "changed");
    await passSince(path, 0);
    await fingerprinter.collect(listed(path), { settle: false });
    clock.step(501);
    snapshotOf(await collect());
    expect(looks()).toBe(0);
  });

  test("all once: change already complete when noticed; none after the settle time", async () => {
    const { path, clock, collect, passSince, looks } = await countingRobot();
    await collect();
    const before = looks();
    await appendFile(path, "changed");
    await passSince(path, 1);
    clock.step(waitOf(await collect()));
    snapshotOf(await collect());
    expect(looks() - before).toBe(1);
  });

  test("all at most twice: burst of changes", async () => {
    const { path, clock, collect, passSince, looks } = await countingRobot();
    await collect();
    const before = looks();
    for (let times = 0; times < 10; times++) {
      await appendFile(path, "changed");
      await passSince(path, 250);
      await collect();
    }
    clock.step(waitOf(await collect()));
    snapshotOf(await collect());
    expect(looks() - before).toBe(2);
  });

  test("none: /proc hidden → the file is hashed once it has settled", async () => {
    const { path, files, writer, collect } = await robotWithWriter();
    files.list = async () => {
      throw Object.assign(new Error("denied"), { code: "EACCES" });
    };
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
    await writer.close();
  });
});
