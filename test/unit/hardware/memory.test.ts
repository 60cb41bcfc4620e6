import { rmSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { createHardwareMemory } from "../../../src/hardware/memory.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import type { Files } from "../../../src/platform/files/files.ts";
import { testFolder } from "../../support/folder.ts";
import { c920, ftdi } from "../../support/robot/hardware-kinds.ts";
import { createHardwareTree, XHCI } from "../../support/robot/hardware-tree.ts";

const REQUEST = { device: "/dev/video0" };
const SIGNAL = new AbortController().signal;

/** Time passes when a test says so. */
function pushedClock() {
  let nowMs = 0;
  const waits: { readonly untilMs: number; readonly resolve: () => void }[] = [];
  const clock: Clock = {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: (durationMs) =>
      new Promise((resolve) => {
        waits.push({ untilMs: nowMs + durationMs, resolve });
      }),
  };
  const push = (ms: number) => {
    nowMs += ms;
    for (const { untilMs, resolve } of waits) if (untilMs <= nowMs) resolve();
  };
  return { clock, push };
}

function robot(change: (files: Files) => Partial<Files> = () => ({})) {
  const tree = createHardwareTree(testFolder("hardware"));
  tree.boot([c920("AAAA0001", 0, { chain: "1" })]);
  const calls = { opened: 0 };
  const counted = {
    ...tree.files,
    openForReading: async (path: string) => {
      calls.opened += 1;
      return tree.files.openForReading(path);
    },
  };
  const { clock, push } = pushedClock();
  const memory = createHardwareMemory({ files: { ...counted, ...change(counted) }, clock });
  return { tree, calls, push, look: () => memory.identify(REQUEST, SIGNAL) };
}

test("a second look → the same, without reading an attribute, for a minute", async () => {
  const { calls, look, push } = robot();
  const first = await look();
  const { opened } = calls;
  expect(first).toMatchObject({ kind: "present", facts: { serial: "AAAA0001" } });
  push(59_000);
  expect(await look()).toEqual(first);
  expect(calls.opened).toBe(opened);
  push(2000);
  expect(await look()).toEqual(first);
  expect(calls.opened).toBe(2 * opened);
});

test("another camera behind the same path → it, with the next look", async () => {
  const { tree, look } = robot();
  await look();
  tree.boot([c920("BBBB0002", 0, { chain: "1" })]);
  expect(await look()).toMatchObject({ facts: { serial: "BBBB0002" } });
});

test("there for a moment, gone, and back → present, absent, present", async () => {
  const { tree, look } = robot();
  const first = await look();
  tree.boot([]);
  expect(await look()).toEqual({ kind: "failed", code: "ENOENT", path: "/dev/video0" });
  tree.boot([c920("AAAA0001", 0, { chain: "1" })]);
  expect(await look()).toEqual(first);
});

test("a failure is not remembered", async () => {
  const { tree, look } = robot();
  const vendor = `/sys/devices/${XHCI}/usb1/1-1/idVendor`;
  rmSync(join(tree.folder, vendor));
  expect(await look()).toEqual({ kind: "failed", code: "ENOENT", path: vendor });
  tree.write(vendor, "046d\n");
  expect(await look()).toMatchObject({ kind: "present" });
});

test("the system hangs → timed out after a second; no further call until that one has ended", async () => {
  const hung = Promise.withResolvers<void>();
  let calls = 0;
  const { look, push } = robot((files) => ({
    openForReading: async (path) => {
      calls += 1;
      await hung.promise;
      return files.openForReading(path);
    },
  }));
  const first = look();
  await expect.poll(() => calls).toBe(1);
  push(1000);
  expect(await first).toEqual({ kind: "timed-out" });
  expect(await look()).toEqual({ kind: "timed-out" });
  expect(calls).toBe(1);
  hung.resolve();
  await expect.poll(look).toMatchObject({ kind: "present" });
});

test("four devices hang → two threads of Node wait for them, not all four", async () => {
  const tree = createHardwareTree(testFolder("hardware"));
  const names = [0, 1, 2, 3].map((each) => `ttyUSB${each}`);
  tree.boot(names.map((name, index) => ftdi(name, name, { chain: `${index + 1}` })));
  const { clock, push } = pushedClock();
  const hung: string[] = [];
  const openForReading = (path: string) => {
    hung.push(path);
    return new Promise<never>(() => {});
  };
  const memory = createHardwareMemory({ files: { ...tree.files, openForReading }, clock });
  const looks = names.map((name) => memory.identify({ device: `/dev/${name}` }, SIGNAL));
  for (const count of [1, 2]) {
    await expect.poll(() => hung.length).toBe(count);
    push(1000);
  }
  expect(await Promise.all(looks)).toEqual(names.map(() => ({ kind: "timed-out" })));
  expect(hung).toHaveLength(2);
});

test("ten thousand requests → few are remembered", async () => {
  const tree = createHardwareTree(testFolder("hardware"));
  tree.boot([ftdi("A", "ttyUSB0", { chain: "1" })]);
  const memory = createHardwareMemory({ files: tree.files, clock: pushedClock().clock });
  for (let each = 0; each < 300; each += 1) await memory.identify({ interface: `can${each}` }, SIGNAL);
  expect(await memory.identify({ device: "/dev/ttyUSB0" }, SIGNAL)).toMatchObject({ kind: "present" });
});
