import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { type Collection, type Collector, createCollector } from "../../../src/agent/collector.ts";
import { openConfiguration, openManifest } from "../../../src/agent/configuration/open.ts";
import type { Unsettled } from "../../../src/fingerprint/waiting.ts";
import type { FileStat } from "../../../src/platform/files/files.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import { type Interference, meddledFiles, SteppedClock, temporaryFolder } from "../fingerprint/machine.ts";

const NEVER = new AbortController().signal;

/** A robot with two configuration files that are hours old, and the files that its agent opens. */
async function robot(interference: Interference = {}) {
  const folder = await temporaryFolder();
  const manifestPath = join(folder, "manifest.yaml");
  const configPath = join(folder, "config.yaml");
  const paths = [join(folder, "map.bin"), join(folder, "tool.conf")] as const;
  const manifest = (type: string) => `robot_type_id: ${type}\nconfiguration_files: ${JSON.stringify(paths)}\n`;
  const configuration = (settleMs: number) =>
    `service: { url: "http://127.0.0.1:1" }\nrobot: { name: arm-7, region: eu }\nmanifest: ${manifestPath}\nwatch: { settle_ms: ${settleMs} }\n`;
  await writeFile(configPath, configuration(500));
  await writeFile(manifestPath, manifest("yam.bimanual-joint-position.v1"));
  for (const path of paths) await writeFile(path, "first\n");
  const clock = new SteppedClock();
  clock.step(3_600_000);
  const files = meddledFiles(interference);
  const machine = { ...systemMachine({}, process.pid), files, clock };
  const configurationInput = openConfiguration(machine, configPath);
  await configurationInput.refresh(false);
  const initial = configurationInput.reading.value;
  if (initial === null) throw new Error(JSON.stringify(configurationInput.reading.findings));
  const collector = createCollector({
    machine,
    configuration: configurationInput,
    initial,
    registration: null,
    openManifest: (path, settleMs) => openManifest(machine, path, settleMs),
    approved: () => null,
    before: () => null,
    onConfiguration() {},
  });
  return { paths, configPath, manifestPath, manifest, configuration, clock, files, collector };
}

function look(collector: Collector): Promise<Collection | Unsettled> {
  return collector.collect(true, NEVER);
}

async function wantedOf(collector: Collector): Promise<Collection["wanted"]> {
  const collected = await look(collector);
  if (collected.kind !== "collected") throw new Error(JSON.stringify(collected));
  return collected.wanted;
}

/** Replaces the image by one whose files have equal lengths and times. */
function swapOf(stats: Map<bigint, FileStat>): (seen: FileStat) => FileStat {
  return (seen) => stats.get(seen.inode) ?? seen;
}

test("collect: invalidated during a read → read again", async () => {
  const stats = new Map<bigint, FileStat>();
  let swap: (() => Promise<void>) | null = null;
  const { paths, collector, files } = await robot({
    changeStat: swapOf(stats),
    async beforeOpen(path) {
      if (swap === null || path !== paths[1]) return;
      await swap();
      swap = null;
    },
  });
  for (const path of paths) {
    const stat = await files.stat(path);
    stats.set(stat.inode, stat);
  }
  swap = async () => {
    for (const path of paths) await writeFile(path, "other\n");
    collector.invalidate();
  };
  expect(await look(collector)).toMatchObject({ kind: "unsettled" });
  expect(collector.isUnchanged()).toBe(false);
  expect(await wantedOf(collector)).toMatchObject({ body: { configuration_digest: await digestOfFiles(...paths) } });
});

test("collect: manifest replaced while files are read → not combined with their digests", async () => {
  let update: (() => Promise<void>) | null = null;
  const { paths, manifestPath, manifest, collector, clock } = await robot({
    async beforeOpen(path) {
      if (update === null || path !== paths[0]) return;
      await update();
      update = null;
    },
  });
  update = async () => {
    for (const [path, content] of [
      [manifestPath, manifest("yam.single-joint-position.v1")],
      [paths[1], "second\n"],
    ] as const) {
      await writeFile(`${path}.new`, content);
      await rename(`${path}.new`, path);
    }
    // Reading the large file takes long enough to replace the manifest.
    clock.step(3_600_000);
  };
  expect(await look(collector)).toMatchObject({ kind: "unsettled" });
  expect(await wantedOf(collector)).toMatchObject({
    kind: "body",
    body: { robot_type_id: "yam.single-joint-position.v1", configuration_digest: await digestOfFiles(...paths) },
  });
});

test("invalidate: together with an edit of `watch` → stays in effect", async () => {
  const stats = new Map<bigint, FileStat>();
  const { paths, configPath, configuration, collector, files, clock } = await robot({ changeStat: swapOf(stats) });
  await wantedOf(collector);
  for (const path of paths) {
    const stat = await files.stat(path);
    stats.set(stat.inode, stat);
    await writeFile(path, "other\n");
  }
  await writeFile(configPath, configuration(400));
  clock.step(3_600_000);
  collector.invalidate();
  expect(await wantedOf(collector)).toMatchObject({ body: { configuration_digest: await digestOfFiles(...paths) } });
});

test("invalidate: unchanged stats → the next check reads configuration, manifest and every file again", async () => {
  const { collector, files, paths, configPath, manifestPath } = await robot();
  await wantedOf(collector);
  files.opened.length = 0;
  await wantedOf(collector);
  expect(files.opened).toEqual([]);
  collector.invalidate();
  await wantedOf(collector);
  expect(files.opened.toSorted()).toEqual([configPath, manifestPath, ...paths].toSorted());
});
