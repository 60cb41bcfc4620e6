import { chmod, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { createDocumentInput, type DocumentInput } from "../../../../src/agent/configuration/document-input.ts";
import { type FileStat, systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";

const SETTLE_MS = 500;

let folder = "";
let path = "";
/** Fixed time of both clocks: the last write. */
let stoppedMs = 0;
/** Offset of both clocks in milliseconds. */
let laterMs = 0;
let reads = 0;
let document: DocumentInput<string>;
/** Action to perform once, when the file is opened. */
let meanwhile: (() => Promise<void>) | null = null;
let mountTable = "";
/** How the filesystem rounds timestamps. */
let rounding = (stat: FileStat) => stat;

beforeEach(async () => {
  folder = testFolder("document-input");
  path = join(folder, "document.yaml");
  laterMs = 0;
  reads = 0;
  rounding = (seen) => seen;
  meanwhile = null;
  mountTable = "";
  document = createDocumentInput({
    files: {
      ...systemFiles,
      stat: async (seen) => rounding(await systemFiles.stat(seen)),
      mountsNow: () => mountTable,
      statNow: (seen) => rounding(systemFiles.statNow(seen)),
      async openForReading(seen) {
        const act = meanwhile;
        meanwhile = null;
        await act?.();
        return systemFiles.openForReading(seen);
      },
    },
    clock: {
      wallMs: () => stoppedMs + laterMs,
      monotonicMs: () => stoppedMs + laterMs,
      sleep: () => Promise.reject(new Error("not to be slept")),
    },
    path,
    missingFix: "write it",
    settleMs: () => SETTLE_MS,
    read(bytes) {
      reads += 1;
      return { findings: [], value: Buffer.from(bytes).toString(), locate: () => ({ line: 1, column: 1 }) };
    },
  });
});

async function write(text: string): Promise<void> {
  await writeFile(path, text);
  stoppedMs = (await stat(path)).mtimeMs;
}

describe("document input", () => {
  test("old file → read at once", async () => {
    await write("one");
    laterMs = 60_000;
    expect(await document.refresh(true)).toBe(0);
    expect(document.reading.value).toBe("one");
  });

  test("file that was there and is gone → given five seconds to return; missing from the start → the settle time", async () => {
    expect(await document.refresh(true)).toBe(SETTLE_MS);
    await write("one");
    laterMs = 60_000;
    await document.refresh(true);
    await rm(path);
    expect(await document.refresh(true)).toBe(5000);
    laterMs += 4999;
    expect(await document.refresh(true)).toBe(1);
    expect(document.reading.value).toBe("one");
    laterMs += 1;
    expect(await document.refresh(true)).toBe(0);
    expect(document.reading.findings).toMatchObject([{ id: "file_missing" }]);
  });

  test("missing where the unit of this program has a folder of its own → the unit is named", async () => {
    mountTable = `1 0 8:1 /systemd-private-1-x.service/tmp ${folder} rw - ext4 /dev/sda rw\n`;
    await document.refresh(false);
    expect(document.reading.findings).toMatchObject([
      { id: "file_unreadable", message: expect.stringContaining("the unit hides it from the agent (PrivateTmp=yes)") },
    ]);
  });

  test("fresh file → waits exactly the settle time", async () => {
    await write("one");
    const waitMs = await document.refresh(true);
    expect(waitMs).toBeGreaterThan(SETTLE_MS - 1);
    expect(waitMs).toBeLessThanOrEqual(SETTLE_MS);
    laterMs = waitMs;
    expect(await document.refresh(true)).toBe(0);
    expect(document.reading.value).toBe("one");
  });

  test("missing file, or a link to one → what is missing, and what to do", async () => {
    const told = async () => {
      await document.refresh(false);
      return document.reading.findings.map(({ message }) => message);
    };
    expect(await told()).toEqual([`${path} does not exist; write it`]);
    await symlink("/nowhere.yaml", path);
    document.invalidate();
    expect(await told()).toEqual([
      `${path} is a symbolic link to /nowhere.yaml, which does not exist; create that, or correct the link`,
    ]);
  });

  test("fresh file without settling → read at once", async () => {
    await writeFile(path, "one");
    expect(await document.refresh(false)).toBe(0);
    expect(document.reading.value).toBe("one");
  });

  test("unchanged file → not read again", async () => {
    await write("one");
    laterMs = 60_000;
    await document.refresh(false);
    await document.refresh(false);
    expect(reads).toBe(1);
    expect(document.isUnchanged()).toBe(true);
  });

  test("unchanged but invalidated file → read again", async () => {
    await write("one");
    laterMs = 60_000;
    await document.refresh(true);
    document.invalidate();
    expect(document.isUnchanged()).toBe(false);
    await document.refresh(true);
    expect(reads).toBe(2);
  });

  test.each([
    ["the kernel's tick", 0],
    ["a whole second", 1000],
    ["an even second, as on FAT", 2000],
  ])("two edits of equal length within %s → the second one is read, too", async (_what, granularityMs) => {
    const round = (timeNs: bigint) => {
      const stepNs = BigInt(Math.max(granularityMs, 10)) * 1_000_000n;
      return (timeNs / stepNs) * stepNs + (granularityMs === 0 ? 1n : 0n);
    };
    rounding = (seen) => ({ ...seen, mtimeNs: round(seen.mtimeNs), ctimeNs: round(seen.ctimeNs) });
    await write("one");
    laterMs = 5;
    await document.refresh(false);
    expect(document.reading.value).toBe("one");
    expect(document.isUnchanged()).toBe(false);
    await writeFile(path, "two");
    await document.refresh(false);
    expect(document.reading.value).toBe("two");
    laterMs = 60_000;
    await document.refresh(true);
    expect(document.isUnchanged()).toBe(true);
  });

  test("timestamps of even seconds → waits until a further edit would be visible", async () => {
    rounding = (seen) => ({ ...seen, mtimeNs: 4_000_000_000n, ctimeNs: 4_000_000_000n });
    stoppedMs = 4000;
    await writeFile(path, "one");
    expect(await document.refresh(true)).toBe(2000 + SETTLE_MS);
    laterMs = 2000 + SETTLE_MS;
    expect(await document.refresh(true)).toBe(0);
  });

  test.each([
    ["appended to", () => writeFile(path, "half")],
    ["replaced", () => writeFile(`${path}.new`, "half").then(() => rename(`${path}.new`, path))],
    ["removed", () => rm(path)],
  ])("%s during a read → discarded, the last reading stays", async (_what, act) => {
    await write("whole");
    laterMs = 60_000;
    await document.refresh(true);
    await write("next");
    laterMs += 60_000;
    meanwhile = act;
    expect(await document.refresh(true)).toBe(SETTLE_MS);
    expect(document.reading).toMatchObject({ value: "whole", findings: [] });
    expect(document.isUnchanged()).toBe(false);
    expect(await document.isAsRead()).toBe(false);
    await write("the end");
    laterMs += 60_000;
    expect(await document.refresh(true)).toBe(0);
    expect(document.reading.value).toBe("the end");
    expect([document.isUnchanged(), await document.isAsRead()]).toEqual([true, true]);
  });

  test("written during the read without settling → finding", async () => {
    await write("whole");
    laterMs = 60_000;
    meanwhile = () => writeFile(path, "half");
    expect(await document.refresh(false)).toBe(SETTLE_MS);
    expect(document.reading).toMatchObject({ value: null, findings: [{ id: "file_unstable" }] });
  });

  test("temporarily unreadable file → read at the next check, even if unchanged", async () => {
    await write("whole");
    laterMs = 60_000;
    meanwhile = async () => {
      throw Object.assign(new Error("EIO"), { code: "EIO" });
    };
    expect(await document.refresh(true)).toBe(0);
    expect(document.reading.findings).toMatchObject([
      { id: "file_unreadable", message: expect.stringContaining("EIO") },
    ]);
    expect(document.isUnchanged()).toBe(false);
    expect(await document.refresh(true)).toBe(0);
    expect(document.reading.value).toBe("whole");
  });

  test("replaced file → read again", async () => {
    await writeFile(path, "one");
    await document.refresh(false);
    await writeFile(`${path}.new`, "two");
    await rename(`${path}.new`, path);
    expect(document.isUnchanged()).toBe(false);
    await document.refresh(false);
    expect(document.reading.value).toBe("two");
  });

  test("timestamp in the future → waits the settle time by the monotonic clock", async () => {
    await write("one");
    laterMs = -3_600_000;
    expect(await document.refresh(true)).toBeGreaterThan(SETTLE_MS - 1);
    laterMs += SETTLE_MS;
    expect(await document.refresh(true)).toBe(0);
  });

  test("missing for the settle time → finding with a remedy", async () => {
    expect(await document.refresh(true)).toBeGreaterThan(0);
    laterMs = SETTLE_MS + 1;
    expect(await document.refresh(true)).toBe(0);
    expect(document.reading.value).toBeNull();
    expect(document.reading.findings).toMatchObject([
      { id: "file_missing", message: expect.stringContaining("write it") },
    ]);
    expect(document.isUnchanged()).toBe(true);
    await writeFile(path, "here");
    expect(document.isUnchanged()).toBe(false);
  });

  test("a folder instead of the file → finding", async () => {
    await rm(path, { force: true });
    document = createDocumentInput({
      files: systemFiles,
      clock: { wallMs: Date.now, monotonicMs: () => performance.now(), sleep: () => Promise.resolve() },
      path: folder,
      missingFix: "",
      settleMs: () => 0,
      read: () => ({ findings: [], value: "", locate: () => ({ line: 1, column: 1 }) }),
    });
    await document.refresh(false);
    expect(document.reading.findings).toMatchObject([{ id: "file_not_regular" }]);
  });

  test.skipIf(process.getuid?.() === 0)("unreadable file → finding", { tags: "needs/root" }, async () => {
    await writeFile(path, "secret");
    await chmod(path, 0);
    await document.refresh(false);
    expect(document.reading.findings).toMatchObject([{ id: "file_unreadable" }]);
  });
});
