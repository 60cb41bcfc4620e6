import { spawn } from "node:child_process";
import { appendFile, readFile, rename, stat, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { createFingerprinter } from "../../../src/fingerprint/fingerprint.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";
import {
  type Interference,
  LIMITS,
  listed,
  meddledFiles,
  REAL,
  snapshotOf,
  SteppedClock,
  temporaryFolder,
} from "./machine.ts";

/** Two settled files, on a disk where one change happens while they are hashed. */
async function interfered(interfere: (paths: readonly string[]) => Interference) {
  const folder = await temporaryFolder();
  // The larger one is read first.
  const paths = [join(folder, "a.conf"), join(folder, "b.conf")];
  await writeFile(paths[0]!, "a".repeat(200));
  await writeFile(paths[1]!, "b".repeat(100));
  const clock = new SteppedClock();
  clock.step(60_000);
  const files = meddledFiles(interfere(paths));
  return { folder, paths, clock, files, fingerprinter: createFingerprinter({ files, clock }, LIMITS) };
}

function onceOnly(action: () => Promise<void>): () => Promise<void> {
  let isDone = false;
  return async () => {
    if (isDone) return;
    isDone = true;
    await action();
  };
}

describe("collect: consistent cut", () => {
  const edits: readonly (readonly [what: string, interfere: (paths: readonly string[]) => Interference])[] = [
    [
      "a file that was already hashed is overwritten",
      ([a, b]) => {
        const write = onceOnly(async () => {
          // Let the other lanes finish the first file.
          await new Promise((resolve) => setTimeout(resolve, 30));
          await writeFile(a!, "A".repeat(200));
        });
        return { beforeRead: (path) => (path === b ? write() : undefined) };
      },
    ],
    [
      "a file that was already hashed is replaced",
      ([a, b]) => {
        const replace = onceOnly(async () => {
          await new Promise((resolve) => setTimeout(resolve, 30));
          await writeFile(`${a}.new`, "A".repeat(200));
          await rename(`${a}.new`, a!);
        });
        return { beforeRead: (path) => (path === b ? replace() : undefined) };
      },
    ],
    [
      "the file that is being read is overwritten",
      ([a]) => {
        const write = onceOnly(() => writeFile(a!, "A".repeat(200)));
        return { beforeRead: (path) => (path === a ? write() : undefined) };
      },
    ],
    [
      "the file that is being read is truncated",
      ([a]) => {
        const write = onceOnly(() => writeFile(a!, "A"));
        return { beforeRead: (path) => (path === a ? write() : undefined) };
      },
    ],
    [
      "the file that is being read grows",
      ([a]) => {
        const write = onceOnly(() => appendFile(a!, "A"));
        return { beforeRead: (path) => (path === a ? write() : undefined) };
      },
    ],
    [
      "a file is replaced between stat and open",
      ([a]) => {
        const replace = onceOnly(async () => {
          await writeFile(`${a}.new`, "A".repeat(200));
          await rename(`${a}.new`, a!);
        });
        return { beforeOpen: (path) => (path === a ? replace() : undefined) };
      },
    ],
  ];

  test.each(edits)("scenario 23: %s → read again, the digest matches the disk", async (_what, interfere) => {
    const { paths, files, fingerprinter } = await interfered(interfere);
    const collected = await fingerprinter.collect(listed(...paths), { settle: false });
    expect(snapshotOf(collected).digest).toBe(await digestOfFiles(...paths));
    expect(files.opened.filter((path) => path === paths[0])).toHaveLength(2);
    expect(files.opened.filter((path) => path === paths[1])).toHaveLength(1);
    expect(files.open).toBe(0);
  });

  test.each(edits)("scenario 23: %s → with settle, waits until it has settled", async (_what, interfere) => {
    const { paths, clock, fingerprinter } = await interfered(interfere);
    // Without a wall clock only observed time counts.
    clock.setWall(0);
    await fingerprinter.collect(listed(...paths), { settle: true });
    clock.step(500);
    const collected = await fingerprinter.collect(listed(...paths), { settle: true });
    expect(collected).toMatchObject({ kind: "unsettled", paths: [paths[0]] });
    clock.step(500);
    const settled = await fingerprinter.collect(listed(...paths), { settle: true });
    expect(snapshotOf(settled).digest).toBe(await digestOfFiles(...paths));
  });

  test.each([false, true])(
    "a file that changes during every read → finding after a few reads (settle %s)",
    async (settle) => {
      let count = 0;
      const { paths, clock, files, fingerprinter } = await interfered(([a]) => ({
        beforeRead: async (path) => {
          if (path === a) await writeFile(path, `${count++}`.padEnd(200));
        },
      }));
      const collect = () => fingerprinter.collect(listed(...paths), { settle });
      let collected = await collect();
      let waitedMs = 0;
      for (; collected.kind === "unsettled"; collected = await collect()) {
        // The file also changes between the collects.
        await writeFile(paths[0]!, `${count++}`.padEnd(200));
        const stepMs = Math.min(collected.waitMs, 250);
        clock.step(stepMs);
        waitedMs += stepMs;
      }
      expect(collected).toEqual({
        kind: "refused",
        findings: [
          {
            id: "file_unstable",
            severity: "error",
            path: paths[0],
            index: 0,
            message: expect.stringContaining(paths[0]!),
          },
        ],
      });
      expect(files.opened.length).toBeLessThanOrEqual(10);
      expect(waitedMs).toBe(settle ? 10_000 : 0);
    },
  );

  test.each([
    [false, 0],
    [false, 100],
    [true, 0],
    [true, 100],
  ])(
    "a log that grows during every read → one consistent state with a warning, changes of other files are not delayed (settle %s, every %i ms)",
    async (settle, pauseMs) => {
      const { paths, clock, fingerprinter } = await interfered(([log]) => ({
        beforeRead: (path) => (path === log ? appendFile(path, "one more line\n") : undefined),
      }));
      const [log, other] = [paths[0]!, paths[1]!];
      await writeFile(other, "changed");
      clock.step(60_000);
      const collect = async () => {
        await appendFile(log, "between\n");
        clock.setWall((await stat(log)).mtimeMs + pauseMs);
        return fingerprinter.collect(listed(...paths), { settle });
      };
      let collected = await collect();
      let waitedMs = 0;
      for (; collected.kind === "unsettled"; collected = await collect()) {
        const stepMs = Math.min(collected.waitMs, 250);
        clock.step(stepMs);
        waitedMs += stepMs;
      }
      expect(waitedMs).toBe(settle ? 10_000 : 0);
      expect(collected).toMatchObject({
        kind: "snapshot",
        warnings: [{ id: "file_restless", severity: "warning", path: log, index: 0 }],
      });
      const [first, second] = snapshotOf(collected).files;
      const beginning = (await readFile(log)).subarray(0, first?.bytes);
      expect(beginning.toString()).toMatch(/\n$/);
      expect(first?.sha256).toBe(createHash("sha256").update(beginning).digest("hex"));
      expect(second?.sha256).toBe(createHash("sha256").update("changed").digest("hex"));
      expect(fingerprinter.isUnchanged(listed(...paths))).toBe(false);
    },
  );

  test("scenario 23: writer during hashing → no digest mixes two states", async () => {
    const folder = await temporaryFolder();
    const [a, b] = [join(folder, "a.bin"), join(folder, "b.bin")];
    const SIZE = 1_500_000;
    const bytesOf = (version: number) => Buffer.alloc(SIZE, `version ${version}\n`);
    await writeFile(a, bytesOf(0));
    await writeFile(b, bytesOf(0));
    // Each file is replaced atomically, a before b: b is never ahead of a, and at most one version behind.
    const program = `
      const { renameSync, writeFileSync } = require("node:fs");
      const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
      for (let version = 1; ; version++) {
        for (const path of process.argv.slice(1)) {
          writeFileSync(path + ".new", Buffer.alloc(${SIZE}, "version " + version + "\\n"));
          renameSync(path + ".new", path);
          pause(3);
        }
        pause(version % 40);
      }`;
    const writer = spawn(process.execPath, ["-e", program, a, b], { stdio: "inherit" });
    onTestFinished(() => void writer.kill("SIGKILL"));

    const versions = new Map<string, number>();
    const versionOf = (sha256: string) => {
      for (let version = versions.size; !versions.has(sha256) && version < 2000; version++) {
        versions.set(createHash("sha256").update(bytesOf(version)).digest("hex"), version);
      }
      return versions.get(sha256) ?? -1;
    };
    const fingerprinter = createFingerprinter(REAL, LIMITS);
    const seen: number[] = [];
    const untilMs = performance.now() + PATIENCE_MS;
    while (new Set(seen).size < 8 && performance.now() < untilMs) {
      const collected = await fingerprinter.collect(listed(a, b), { settle: false });
      if (collected.kind !== "snapshot") continue;
      // If the writer is faster than this machine, the files are read at different moments, and the warning says so.
      if (collected.warnings.some(({ id }) => id === "file_restless")) continue;
      const [first = -1, second = -1] = collected.snapshot.files.map(({ sha256 }) => versionOf(sha256));
      expect(first).toBeGreaterThanOrEqual(0);
      expect(first - second === 0 || first - second === 1).toBe(true);
      seen.push(first);
    }
    writer.kill("SIGKILL");
    await once(writer, "exit");
    expect(new Set(seen).size).toBeGreaterThanOrEqual(8);
  });
});
