import { expect, test } from "vitest";

import type { Clock } from "../../../../src/platform/clock.ts";
import { type Files, type FileStat, systemFiles } from "../../../../src/platform/files/files.ts";
import { findOpenWriters } from "../../../../src/platform/files/open-writers.ts";

const STAT: FileStat = {
  kind: "file",
  device: 1n,
  inode: 7n,
  sizeBytes: 0,
  mtimeNs: 0n,
  ctimeNs: 0n,
  mode: 0o300,
  userId: 0,
  groupId: 0,
};

/** A machine on which every descriptor of every process is /etc/arm.rules. */
function machine(processes: number, descriptors: number, lookMs = 0) {
  let nowMs = 0;
  const listed: number[] = [];
  let followed = 0;
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1));
  const files: Files = {
    ...systemFiles,
    async list(directory) {
      if (directory === "/proc") return [...numbers(processes), "self", "sys", "cpuinfo"];
      listed.push(Number(directory.split("/")[2]));
      nowMs += lookMs;
      return numbers(descriptors);
    },
    async readLink() {
      throw new Error("EINVAL");
    },
    readLinkNow() {
      followed += 1;
      return "/etc/arm.rules";
    },
    linkStat: async () => STAT,
    stat: async () => STAT,
  };
  const clock: Clock = { wallMs: () => nowMs, monotonicMs: () => nowMs, sleep: async () => {} };
  const find = (inode = 7n) => findOpenWriters({ files, clock }, new Map([["/etc/arm.rules", { ...STAT, inode }]]));
  return { find, listed, followed: () => followed };
}

test("findOpenWriters: the file → the process that has it open", async () => {
  expect(await machine(1, 3).find()).toEqual(new Map([["/etc/arm.rules", 1]]));
  expect(await machine(1, 3).find(8n)).toEqual(new Map());
});

test.each([
  ["the 4096 youngest processes", machine(5000, 1), 4096],
  ["one second, plus the processes being checked then", machine(5000, 1, 10), 112],
])("findOpenWriters: checks at most %s", async (_what, { find, listed }, count) => {
  await find();
  expect(listed).toEqual(Array.from({ length: count }, (_, index) => 5000 - index));
});

test("findOpenWriters: process with many descriptors → checks at most 1024", async () => {
  const { find, followed } = machine(1, 5000);
  await find();
  expect(followed()).toBe(1024);
});
