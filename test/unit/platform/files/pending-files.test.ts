import { expect, test } from "vitest";

import { trackFiles } from "../../../../src/platform/files/pending-files.ts";
import {
  type Files,
  type FileStat,
  type ReadableFile,
  systemFiles,
  type WritableFile,
} from "../../../../src/platform/files/files.ts";
import { SteppedClock } from "../../look/machine.ts";

/** Opened files that never answer. */
const readable: ReadableFile = { stat: never, read: never, close: never };
const writable: WritableFile = { write: never, sync: never, close: never };

function never(): Promise<never> {
  return new Promise(() => {});
}

/** A disk on which the test answers each stat; files can be opened, nothing else works. */
function silentDisk() {
  const answers = new Map<string, PromiseWithResolvers<FileStat>>();
  const files: Files = {
    stat(path) {
      const answer = Promise.withResolvers<FileStat>();
      answers.set(path, answer);
      return answer.promise;
    },
    linkStat: never,
    readLink: never,
    openForReading: async () => readable,
    createExclusive: async () => writable,
    rename: never,
    remove: never,
    syncDirectory: never,
    makeDirectory: never,
    list: never,
    mountsNow: () => "",
  };
  const clock = new SteppedClock();
  return { clock, answers, pending: trackFiles(files, clock) };
}

test("hanging: decided by the oldest pending operation, also while newer ones start", async () => {
  const { clock, answers, pending } = silentDisk();
  const stats = ["/a", "/b", "/c"].map((path) => {
    const answer = pending.files.stat(path);
    clock.step(2000);
    return answer;
  });
  expect(pending.hanging(5000)).toBe("/a");
  expect(pending.hanging(6000)).toBe("/a");
  expect(pending.hanging(6001)).toBeNull();
  const stat = await systemFiles.stat("/");
  answers.get("/a")?.resolve(stat);
  expect(await stats[0]).toBe(stat);
  expect(pending.hanging(5000)).toBeNull();
  expect(pending.hanging(4000)).toBe("/b");
  answers.get("/c")?.resolve(stat);
  await stats[2];
  expect(pending.hanging(4000)).toBe("/b");
  answers.get("/b")?.reject(new Error("EIO"));
  await expect(stats[1]).rejects.toThrow("EIO");
  expect(pending.hanging(0)).toBeNull();
});

const questions: readonly (readonly [string, (files: Files) => unknown])[] = [
  ["stat", (files) => files.stat("/drive")],
  ["linkStat", (files) => files.linkStat("/drive")],
  ["readLink", (files) => files.readLink("/drive")],
  ["rename", (files) => files.rename("/from", "/drive")],
  ["remove", (files) => files.remove("/drive")],
  ["syncDirectory", (files) => files.syncDirectory("/drive")],
  ["makeDirectory", (files) => files.makeDirectory("/drive", 0o755)],
  ["list", (files) => files.list("/drive")],
  ["stat of an open file", async (files) => (await files.openForReading("/drive")).stat()],
  ["read", async (files) => (await files.openForReading("/drive")).read(new Uint8Array(1), 0)],
  ["close", async (files) => (await files.openForReading("/drive")).close()],
  ["write", async (files) => (await files.createExclusive("/drive", 0o644)).write(new Uint8Array(1))],
  ["sync", async (files) => (await files.createExclusive("/drive", 0o644)).sync()],
  ["close of a new file", async (files) => (await files.createExclusive("/drive", 0o644)).close()],
];

test.each(questions)("hanging: disk does not answer %s → hangs", async (_what, ask) => {
  const { clock, pending } = silentDisk();
  void ask(pending.files);
  await new Promise(setImmediate);
  clock.step(5000);
  expect(pending.hanging(5000)).toBe("/drive");
});

test.each([
  ["openForReading", (files: Files) => files.openForReading("/drive")],
  ["createExclusive", (files: Files) => files.createExclusive("/drive", 0o644)],
])("hanging: disk does not answer %s → hangs", (_what, ask) => {
  const clock = new SteppedClock();
  const pending = trackFiles({ ...systemFiles, openForReading: never, createExclusive: never }, clock);
  void ask(pending.files);
  clock.step(5000);
  expect(pending.hanging(5000)).toBe("/drive");
});
