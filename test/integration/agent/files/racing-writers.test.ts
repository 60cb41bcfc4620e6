/**
 * Files that are written continuously: every digest that the agent reports or sends is one of complete files.
 *
 * @module-tag needs/program
 */
import { open, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import type { StatusDocument } from "../../../../src/agent/status.ts";
import type { Daemon, DaemonProcess } from "../../../support/robot/daemon.ts";
import { digestOfContents } from "../../../support/robot/digest.ts";
import { eventually, replaceIn } from "../../../support/robot/robot.ts";
import { isLong, times } from "../../../support/run/tier.ts";
import type { FaultProxy } from "../../../support/service/fault-proxy.ts";
import { createScene, expectOneRobot, type Scene, sentDigests } from "../../../support/service/scene.ts";

const SETTLE_MS = 150;
/** How late the first request may be on a busy machine. */
const SLACK_MS = 5000;
/** Versions per writer; enough for each length of pause to occur. */
const VERSIONS = times(6, 24);

interface Observation {
  /** Resolves once the daemon has reported this digest. */
  saw(digest: string): Promise<void>;
  /** Stops, and resolves with every digest that the daemon reported. */
  end(): Promise<ReadonlySet<string>>;
}

/** Collects every digest that the daemon reports, whether sent or delayed by the rate cap, until `end` is called. */
function observe(daemon: Daemon): Observation {
  const ending = new AbortController();
  const seen = new Set<string>();
  const polling = (async () => {
    while (!ending.signal.aborted) {
      const { configuration_digest: configurationDigest, registration } = await daemon.status();
      for (const digest of [configurationDigest, registration?.configuration_digest]) if (digest) seen.add(digest);
      // A digest stays in the status until files have changed and settled again, so no digest is missed.
      await sleep(SETTLE_MS / 3);
    }
  })();
  return {
    async saw(digest) {
      await eventually(async () => seen.has(digest) || undefined, "the digest of the settled files");
    },
    async end() {
      ending.abort();
      await polling;
      return seen;
    },
  };
}

test.concurrent("scenario 23: a large file rewritten in place, repeatedly → no digest of a mix of versions", async ({
  expect,
}) => {
  const SIZE_BYTES = times(12, 24) * 1024 * 1024;
  const PARTS = 6;
  const contentOf = (version: number) => Buffer.alloc(SIZE_BYTES, version);
  await using scene = await createScene({
    files: { "table.bin": contentOf(0).toString("latin1") },
    watch: `{settle_ms: ${SETTLE_MS}, resync_s: 5}`,
  });
  const { proxy, robot } = scene;
  await using daemon = await robot.startProcess();
  await expectOneRobot(scene, daemon);
  const observed = observe(daemon);
  const complete = new Set([digestOfContents(contentOf(0))]);
  const onDisk = contentOf(0);
  for (let version = 1; version <= VERSIONS; version += 1) {
    const file = await open(robot.path("table.bin"), "r+");
    const content = contentOf(version);
    complete.add(digestOfContents(content));
    let writtenMs = performance.now();
    for (let part = 0; part < PARTS; part += 1) {
      // A busy machine delayed this writer until the partly written file had settled.
      if (performance.now() - writtenMs >= SETTLE_MS) complete.add(digestOfContents(onDisk));
      writtenMs = performance.now();
      const from = (SIZE_BYTES / PARTS) * part;
      await file.write(content, from, SIZE_BYTES / PARTS, from);
      content.copy(onDisk, from, from, from + SIZE_BYTES / PARTS);
      await sleep(15);
    }
    await file.close();
    // From too short to settle, through the start of hashing, to long enough for hashing to end.
    if (version % 6 === 5) await observed.saw(digestOfContents(content));
    else await sleep((version % 6) * 70);
  }
  await expectOneRobotNow(scene, daemon);
  const seen = await observed.end();
  expect([...seen].filter((digest) => !complete.has(digest))).toEqual([]);
  expect(sentDigests(proxy).filter((digest) => !complete.has(digest))).toEqual([]);
});

test.concurrent("scenario 23: two small files written in chunks, one after the other → only pairs that existed", async ({
  expect,
}) => {
  const first = (version: number) => `gain: ${version}\nnote: ${"x".repeat(version)}\n`;
  const second = (version: number) => JSON.stringify({ version, table: Array.from({ length: 50 }, () => version) });
  await using scene = await createScene({
    files: { "first.yaml": first(0), "second.json": second(0) },
    watch: `{settle_ms: ${SETTLE_MS}, resync_s: 5}`,
  });
  const { proxy, robot } = scene;
  await using daemon = await robot.startProcess();
  await expectOneRobot(scene, daemon);
  const observed = observe(daemon);
  const existed = new Set([digestOfContents(first(0), second(0))]);
  for (let version = 1; version <= VERSIONS; version += 1) {
    existed.add(digestOfContents(first(version), second(version - 1)));
    existed.add(digestOfContents(first(version), second(version)));
    await writeInChunks(robot.path("first.yaml"), first(version), (part) => {
      existed.add(digestOfContents(part, second(version - 1)));
    });
    await sleep((version % 4) * 80);
    await writeInChunks(robot.path("second.json"), second(version), (part) => {
      existed.add(digestOfContents(first(version), part));
    });
    if (version % 5 === 4) await observed.saw(digestOfContents(first(version), second(version)));
    else await sleep((version % 5) * 80);
  }
  await expectOneRobotNow(scene, daemon);
  const seen = await observed.end();
  expect([...seen].filter((digest) => !existed.has(digest))).toEqual([]);
  expect(sentDigests(proxy).filter((digest) => !existed.has(digest))).toEqual([]);
});

// In the gate, test/simulation/lifecycle.test.ts tests this with a simulated clock.
test
  .runIf(isLong)
  .concurrent(
    "scenario 28: a file that flaps → at most a burst of requests, then one per 20 s; its last state is registered",
    async ({ expect }) => {
      await using scene = await createScene();
      const { proxy, robot } = scene;
      await using daemon = await robot.startProcess();
      await expectOneRobot(scene, daemon);
      for (let version = 0; version < 16; version += 1) {
        await writeFile(
          robot.path("left.yaml"),
          `offset: ${version % 2 === 0 ? "left" : "right"}\nversion: ${version}\n`,
        );
        // Every version settles, so each could be registered.
        await sleep(2.5 * SETTLE_MS);
      }
      const capped = await daemon.until(({ state }) => state === "rate-capped");
      expect(capped.summary).toContain("Files change often");
      expect((await robot.run(["status"])).code).toBe(0);
      await expectOneRobot(scene, daemon);
      expect(proxy.requests.length).toBeGreaterThan(3);
      expectRateCapped(proxy);
    },
  );

test("configuration edited while a large file is hashed → the edit is registered", async () => {
  await using scene = await createScene({
    files: { "large.bin": "x" },
    // No resync during the test: only the event reveals the edit.
    watch: `{settle_ms: ${SETTLE_MS}, resync_s: 3600}`,
  });
  const { proxy, robot } = scene;
  await using daemon = await robot.startProcess();
  await expectOneRobot(scene, daemon);
  const readBytes = await bytesRead(daemon);
  // Sparse: tenths of a second to hash, and nothing to write.
  await truncate(robot.path("large.bin"), 1024 ** 2 * 192);
  await eventually(async () => (await bytesRead(daemon)) > readBytes + 1024 ** 2 * 16 || undefined, "hashing to begin");
  await replaceIn(robot.config_path, "region: eu-central-1", "region: eu-west-1");
  await eventually(
    async () => (await scene.service.robots())[0]?.region === "eu-west-1" || undefined,
    "the edit to be registered",
  );
  await expectOneRobot(scene, daemon);
  // An edit during hashing restarts the run: one registration with both changes, or two if the edit comes after hashing.
  expect(proxy.requests.length).toBeLessThanOrEqual(3);
});

test("scenario 28: 1,000 rewrites in 2 s → at most 3 requests, none of torn content, the last one current", async () => {
  const contentOf = (version: number) => JSON.stringify({ version, padding: "x".repeat(500) });
  await using scene = await createScene({ files: { "arm.json": contentOf(0) } });
  const { proxy, robot } = scene;
  await using daemon = await robot.startProcess();
  await expectOneRobot(scene, daemon);
  const { daemon: before } = await daemon.status();
  const startedMs = performance.now();
  let last = 0;
  // A slow machine rewrites it less often, not for longer: what never holds still is taken as it is after 10 s.
  while (last < 1000 && performance.now() - startedMs < 2000) {
    last += 1;
    // In place and by replacement, as programs do either.
    const path = robot.path(last % 2 === 0 ? "arm.json" : "arm.json.tmp");
    await writeFile(path, contentOf(last));
    if (last % 2 === 1) await rename(path, robot.path("arm.json"));
    const aheadMs = last * 2 - (performance.now() - startedMs);
    if (aheadMs > 0) await sleep(aheadMs);
  }
  const digest = digestOfContents(contentOf(last));
  await daemon.until(
    ({ state, registration }) => state === "rate-capped" || registration?.configuration_digest === digest,
  );
  expectRateCapped(proxy);
  const { daemon: after } = await expectOneRobotNow(scene, daemon);
  const sent = sentDigests(proxy).slice(1);
  expect(sent.at(-1)).toBe(digest);
  const existed = new Set(Array.from({ length: last + 1 }, (_, version) => digestOfContents(contentOf(version))));
  for (const each of sent) expect(existed).toContain(each);
  // Events are debounced: far fewer runs than events.
  expect((after?.runs ?? 0) - (before?.runs ?? 0)).toBeLessThan(100);
});

/** Registers at once by command what the rate cap delays. test/simulation/lifecycle.test.ts tests that the agent sends it without one. */
async function expectOneRobotNow(scene: Scene, daemon: Daemon): Promise<StatusDocument> {
  if (!isLong) expect((await scene.robot.run(["--setup"])).code).toBe(0);
  return expectOneRobot(scene, daemon);
}

/** The first registration and two changes may come at once; each later request is delayed by the rate cap, more so on a slow machine. */
function expectRateCapped({ requests }: FaultProxy): void {
  for (const [index, { atMs }] of requests.entries()) {
    if (index < 3) continue;
    expect(atMs - (requests[0]?.atMs ?? 0)).toBeGreaterThan(20_000 * (index - 2) - SLACK_MS);
  }
}

/** Bytes that the process has read from files (proc_pid_io(5)). */
async function bytesRead(daemon: DaemonProcess): Promise<number> {
  return Number(/^rchar: (\d+)$/m.exec(await readFile(`/proc/${daemon.process_id}/io`, "utf8"))?.[1]);
}

/** @param heldStill called with a partial content that stayed long enough to settle, because a busy machine delayed this writer. */
async function writeInChunks(path: string, content: string, heldStill: (part: string) => void): Promise<void> {
  const file = await open(path, "w");
  let writtenMs = performance.now();
  for (let from = 0; from < content.length; from += content.length / 3) {
    if (performance.now() - writtenMs >= SETTLE_MS) heldStill(content.slice(0, from));
    writtenMs = performance.now();
    await file.write(content.slice(from, from + content.length / 3));
    await sleep(20);
  }
  await file.close();
}
