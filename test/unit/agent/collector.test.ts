import { rename, writeFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { type Collector, createCollector, type Names } from "../../../src/agent/collector.ts";
import type { FileStat } from "../../../src/platform/files/files.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import type { Interference } from "../look/machine.ts";
import { SINGLE, writtenRobot } from "./written-robot.ts";

const NEVER = new AbortController().signal;
const UNNAMED: Names = { approved: null, before: null };

async function robot(interference: Interference = {}) {
  const written = await writtenRobot(interference);
  const collector = createCollector(written);
  return { ...written, collector, collect: () => collector.collect(true, UNNAMED, NEVER) };
}

async function wantedOf(collector: Collector) {
  const collected = await collector.collect(true, UNNAMED, NEVER);
  if (collected.kind !== "collected") throw new Error(JSON.stringify(collected));
  return collected.wanted;
}

/** A robot with confirmed hashes whose image can be replaced by one whose files have equal lengths and times. */
async function swappable(interference: Interference = {}) {
  const stats = new Map<bigint, FileStat>();
  const swapped = await robot({ ...interference, changeStat: (seen) => stats.get(seen.inode) ?? seen });
  const { paths, files, clock, collector } = swapped;
  await wantedOf(collector);
  clock.step(2000);
  await wantedOf(collector);
  const swap = async () => {
    for (const path of paths) {
      const stat = await files.stat(path);
      stats.set(stat.inode, stat);
      await writeFile(path, "other\n");
    }
  };
  return { ...swapped, swap };
}

test("collect: invalidated during a read → read again", async () => {
  let action: (() => Promise<void>) | null = null;
  const { paths, collector, collect, swap } = await swappable({
    async beforeOpen(path) {
      if (!path.endsWith("tool.conf")) return;
      const now = action;
      action = null;
      await now?.();
    },
  });
  collector.invalidate();
  action = async () => {
    await swap();
    collector.invalidate();
  };
  expect(await collect()).toMatchObject({ kind: "unsettled" });
  expect(await collector.isUnchanged()).toBe(false);
  expect(await wantedOf(collector)).toMatchObject({ body: { configuration_digest: await digestOfFiles(...paths) } });
});

test("collect: manifest replaced while files are read → not combined with their digests", async () => {
  let update: (() => Promise<void>) | null = null;
  const { paths, manifestPath, describe, collector, collect, clock } = await robot({
    async beforeOpen(path) {
      if (!path.endsWith("map.bin")) return;
      const now = update;
      update = null;
      await now?.();
    },
  });
  update = async () => {
    await describe(SINGLE, `${manifestPath}.new`);
    await rename(`${manifestPath}.new`, manifestPath);
    await writeFile(`${paths[1]}.new`, "second\n");
    await rename(`${paths[1]}.new`, paths[1]);
  };
  expect(await collect()).toMatchObject({ kind: "unsettled", paths: expect.arrayContaining([manifestPath]) });
  clock.step(500);
  expect(await wantedOf(collector)).toMatchObject({
    kind: "body",
    body: { robot_type_id: SINGLE, configuration_digest: await digestOfFiles(...paths) },
  });
});

test("collect: files settle while the manifest is replaced without a wait → not combined either", async () => {
  let update: (() => Promise<void>) | null = null;
  const { paths, describe, configure, collector, collect } = await robot({
    async beforeOpen(path) {
      if (!path.endsWith("map.bin")) return;
      const now = update;
      update = null;
      await now?.();
    },
  });
  await configure({ settleMs: 0 });
  await collector.documents.read(false);
  update = () => describe(SINGLE);
  expect(await collect()).toMatchObject({ kind: "unsettled" });
  const digest = await digestOfFiles(...paths);
  expect(await wantedOf(collector)).toMatchObject({ body: { robot_type_id: SINGLE, configuration_digest: digest } });
});

test("invalidate: together with an edit of `watch` → stays in effect", async () => {
  const { paths, configure, collector, collect, clock, swap } = await swappable();
  await swap();
  await configure({ settleMs: 400 });
  collector.invalidate();
  expect(await collect()).toMatchObject({ kind: "unsettled" });
  clock.step(500);
  expect(await wantedOf(collector)).toMatchObject({ body: { configuration_digest: await digestOfFiles(...paths) } });
});

test("invalidate: unchanged stats → the next check reads configuration, manifest and every file again", async () => {
  const { collector, files, paths, configPath, manifestPath } = await swappable();
  files.opened.length = 0;
  await wantedOf(collector);
  expect(files.opened).toEqual([]);
  expect(await collector.isUnchanged()).toBe(true);
  collector.invalidate();
  await wantedOf(collector);
  expect(files.opened.toSorted()).toEqual([configPath, manifestPath, ...paths].toSorted());
});
