import { rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { createFileVersions } from "../../../../src/agent/registration/file-version.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { type FileStat, systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";

const SECOND_NS = 1_000_000_000n;
const toSeconds = (ns: bigint) => ns - (ns % SECOND_NS);

/** A key file on a filesystem with timestamps of seconds or nanoseconds, and both clocks at its last write. */
async function keyFile(keepsNanoseconds: boolean) {
  const folder = testFolder("file-version");
  const path = join(folder, "api-key");
  await writeFile(path, "sk_test_one");
  const written = await stat(path);
  let nowMs = written.mtimeMs;
  /** Two edits with the same timestamp, within one tick or by its lost precision. */
  const frozen = await systemFiles.stat(path);
  const times = keepsNanoseconds ? frozen : { mtimeNs: toSeconds(frozen.mtimeNs), ctimeNs: toSeconds(frozen.ctimeNs) };
  const coarse = (seen: FileStat): FileStat => ({ ...seen, mtimeNs: times.mtimeNs, ctimeNs: times.ctimeNs });
  const versions = createFileVersions({
    files: {
      ...systemFiles,
      stat: async (seen) => coarse(await systemFiles.stat(seen)),
      statNow: (seen) => coarse(systemFiles.statNow(seen)),
    },
    clock: {
      wallMs: () => nowMs,
      monotonicMs: () => nowMs,
      sleep: () => Promise.reject(new Error("not to be slept")),
    },
  });
  return {
    path,
    look: () => versions.look([path]),
    isUnchanged: () => versions.isUnchanged([path]),
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

test.each([
  ["whole seconds", false, 4000],
  ["nanoseconds, within one tick", true, 30],
])(
  "credential version: edit with an equal stat → noticed until the file has settled: %s",
  async (_name, nanos, restMs) => {
    const key = await keyFile(nanos);
    const first = await key.look();
    expect([await key.look(), key.isUnchanged()]).toEqual([first, false]);
    await writeFile(key.path, "sk_test_two");
    const second = await key.look();
    expect([second === first, key.isUnchanged()]).toEqual([false, false]);
    await writeFile(key.path, "sk_test_six");
    key.pass(restMs);
    const last = await key.look();
    expect([last === second, key.isUnchanged()]).toEqual([false, true]);
    key.pass(restMs);
    expect(await key.look()).toBe(last);
  },
);

test.each([
  ["another length", (path: string) => writeFile(path, "sk_test_longer")],
  ["removal", (path: string) => rm(path)],
])("credential version: %s → changes", async (_name, change) => {
  const key = await keyFile(false);
  key.pass(10_000);
  const before = await key.look();
  expect(key.isUnchanged()).toBe(true);
  await change(key.path);
  expect(key.isUnchanged()).toBe(false);
  expect(await key.look()).not.toBe(before);
});

test("credential version: fresh key that settles → same version", async () => {
  const key = await keyFile(true);
  const fresh = await key.look();
  key.pass(1000);
  expect([await key.look(), key.isUnchanged()]).toEqual([fresh, true]);
});

test("credential version: file replaced between stat and read → one change", async () => {
  const folder = testFolder("file-version");
  const path = join(folder, "api-key");
  await writeFile(path, "sk_test_one");
  await writeFile(`${path}.next`, "sk_test_two");
  let isReplaced = false;
  const versions = createFileVersions({
    files: {
      ...systemFiles,
      async openForReading(opened) {
        if (!isReplaced) await rename(`${path}.next`, path);
        isReplaced = true;
        return systemFiles.openForReading(opened);
      },
    },
    clock: systemClock,
  });
  const first = await versions.look([path]);
  expect(isReplaced).toBe(true);
  expect(await versions.look([path])).toBe(first);
});
