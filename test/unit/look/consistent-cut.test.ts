import { spawn } from "node:child_process";
import { appendFile, rename, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { digestOfFiles } from "../../support/robot/digest.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";
import { type Interference, lookAround, REAL, robot, snapshotOf, temporaryFolder, waitOf } from "./machine.ts";

const A = "a".repeat(200);
const CHANGED = "A".repeat(200);

/** Two settled files, on a disk where one call does something. */
function interfered(interference: Interference) {
  return robot({ "a.conf": A, "b.conf": "b".repeat(100) }, interference);
}

async function replace(path: string): Promise<void> {
  await writeFile(`${path}.new`, CHANGED);
  await rename(`${path}.new`, path);
}

describe("a consistent cut", () => {
  const edits: readonly (readonly [
    what: string,
    when: "beforeOpen" | "beforeRead",
    of: "a.conf" | "b.conf",
    edit: (a: string) => Promise<void>,
  ])[] = [
    ["a file that was already hashed is overwritten", "beforeRead", "b.conf", (a) => writeFile(a, CHANGED)],
    ["a file that was already hashed is replaced", "beforeRead", "b.conf", replace],
    ["the file that is being read is overwritten", "beforeRead", "a.conf", (a) => writeFile(a, CHANGED)],
    ["the file that is being read is truncated", "beforeRead", "a.conf", (a) => writeFile(a, "A")],
    ["the file that is being read grows", "beforeRead", "a.conf", (a) => appendFile(a, "A")],
    ["a file is replaced between stat and open", "beforeOpen", "a.conf", replace],
  ];

  test.each(edits)(
    "scenario 23: %s → read again, or waited for until it has settled",
    async (_what, when, of, edit) => {
      for (const settle of [false, true]) {
        let isDone = false;
        const { paths, path, other, clock, files, look } = await interfered({
          async [when](seen: string) {
            if (isDone || !seen.endsWith(of)) return;
            isDone = true;
            await edit(path);
          },
        });
        let collected = await look.collect(paths, { settle });
        if (settle) {
          expect(collected).toMatchObject({ kind: "unsettled", waitMs: 500, paths: [path] });
          clock.step(waitOf(collected));
          collected = await look.collect(paths, { settle });
        }
        expect(snapshotOf(collected).digest).toBe(await digestOfFiles(...paths));
        expect(files.opened.filter((each) => each === path)).toHaveLength(2);
        expect(files.opened.filter((each) => each === other)).toHaveLength(settle ? 2 : 1);
        expect(files.open).toBe(0);
      }
    },
  );

  test.each([false, true])(
    "a file that changes during every read → finding after a few reads (settle %s)",
    async (settle) => {
      let count = 0;
      const write = (path: string) => writeFile(path, `${count++}`.padEnd(200));
      const { paths, path, clock, files, look } = await interfered({
        beforeRead: (each) => (each.endsWith("a.conf") ? write(each) : undefined),
      });
      let waitedMs = 0;
      let collected = await look.collect(paths, { settle });
      for (; collected.kind === "unsettled"; collected = await look.collect(paths, { settle })) {
        // The file also changes between the looks.
        await write(path);
        const stepMs = Math.min(collected.waitMs, 250);
        clock.step(stepMs);
        waitedMs += stepMs;
      }
      const message = expect.stringContaining(`${path}: it kept changing`);
      const finding = { id: "file_unstable", severity: "error", path, entry: 0, message };
      expect(collected).toEqual({ kind: "refused", findings: [finding] });
      expect(files.opened.length).toBeLessThanOrEqual(10);
      expect(waitedMs).toBe(settle ? 10_500 : 0);
    },
  );

  test("a file that changes in every round but the last → both files are of one moment, or there is no digest", async () => {
    let rounds = 0;
    const { paths, path, other, look } = await interfered({
      async beforeOpen(each) {
        if (!each.endsWith("a.conf") || ++rounds > 8) return;
        // The last time nothing shows it but a stat of the other file.
        await (rounds < 8 ? appendFile(path, "x") : writeFile(other, "later"));
      },
    });
    const collected = await look.collect(paths, { settle: false });
    expect(collected).toMatchObject({ kind: "refused", findings: [{ id: "file_unstable", path: other }] });
  });

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
    const look = lookAround(REAL);
    const seen = new Set<number>();
    const untilMs = performance.now() + PATIENCE_MS;
    while (seen.size < 8 && performance.now() < untilMs) {
      const collected = await look.collect([a, b], { settle: false });
      // The writer may be faster than this machine.
      if (collected.kind !== "snapshot") continue;
      const [first = -1, second = -1] = collected.snapshot.files.map(({ sha256 }) => versionOf(sha256));
      expect(first).toBeGreaterThanOrEqual(0);
      expect([0, 1]).toContain(first - second);
      seen.add(first);
    }
    writer.kill("SIGKILL");
    await once(writer, "exit");
    expect(seen.size).toBeGreaterThanOrEqual(8);
  });
});
