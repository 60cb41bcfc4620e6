/** Writers that never rest: whatever the agent reads meanwhile, it only ever speaks of files that existed whole. */
import { createHash } from "node:crypto";
import { open, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import type { Daemon } from "../../support/robot.ts";
import { eventually, replaceIn } from "../../support/robot.ts";
import { createScene, expectOneRobot, sentDigests } from "../../support/scene.ts";

const SETTLE_MS = 150;

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function digestOf(...contents: readonly (string | Buffer)[]): string {
  return `sha256:${sha256(contents.map((content) => `${sha256(content)}\n`).join(""))}`;
}

/** Collects every digest that the daemon comes to, sent or held back by the rate cap, until told to stop. */
function observe(daemon: Daemon): { end(): Promise<ReadonlySet<string>> } {
  const ending = new AbortController();
  const seen = new Set<string>();
  const looking = (async () => {
    while (!ending.signal.aborted) {
      const { configuration_digest, registration } = await daemon.status();
      for (const digest of [configuration_digest, registration?.configuration_digest]) if (digest) seen.add(digest);
      await sleep(10);
    }
  })();
  return {
    async end() {
      ending.abort();
      await looking;
      return seen;
    },
  };
}

test.concurrent("scenario 23: 24 MiB rewritten in place, over and over: no digest of a mix, ever", async ({
  expect,
}) => {
  const SIZE_BYTES = 24 * 1024 * 1024;
  const PARTS = 6;
  const contentOf = (version: number) => Buffer.alloc(SIZE_BYTES, version);
  await using scene = await createScene({
    files: { "table.bin": contentOf(0).toString("latin1") },
    watch: `{settle_ms: ${SETTLE_MS}, resync_s: 5}`,
  });
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  const observed = observe(daemon);
  const whole = new Set([digestOf(contentOf(0))]);
  const file = await open(robot.path("table.bin"), "r+");
  for (let version = 1; version <= 24; version += 1) {
    const content = contentOf(version);
    whole.add(digestOf(content));
    for (let part = 0; part < PARTS; part += 1) {
      const from = (SIZE_BYTES / PARTS) * part;
      await file.write(content, from, SIZE_BYTES / PARTS, from);
      await sleep(15);
    }
    // From far too short to hold still, over the moment at which hashing begins, to long enough for it to end.
    await sleep((version % 6) * 70);
  }
  await file.close();
  await expectOneRobot(scene, daemon);
  const seen = await observed.end();
  // Some versions held still long enough, or this would show nothing.
  expect(seen.size).toBeGreaterThan(3);
  expect([...seen].filter((digest) => !whole.has(digest))).toEqual([]);
  expect(sentDigests(proxy).filter((digest) => !whole.has(digest))).toEqual([]);
});

test.concurrent("scenario 23: two small files written in chunks, one after the other: only pairs that existed", async ({
  expect,
}) => {
  const first = (version: number) => `gain: ${version}\nnote: ${"x".repeat(version)}\n`;
  const second = (version: number) => JSON.stringify({ version, table: Array.from({ length: 50 }, () => version) });
  await using scene = await createScene({
    files: { "first.yaml": first(0), "second.json": second(0) },
    watch: `{settle_ms: ${SETTLE_MS}, resync_s: 5}`,
  });
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  const observed = observe(daemon);
  const existed = new Set([digestOf(first(0), second(0))]);
  for (let version = 1; version <= 24; version += 1) {
    existed.add(digestOf(first(version), second(version - 1)));
    existed.add(digestOf(first(version), second(version)));
    await writeInChunks(robot.path("first.yaml"), first(version));
    await sleep((version % 4) * 80);
    await writeInChunks(robot.path("second.json"), second(version));
    await sleep((version % 5) * 80);
  }
  await expectOneRobot(scene, daemon);
  const seen = await observed.end();
  expect(seen.size).toBeGreaterThan(3);
  expect([...seen].filter((digest) => !existed.has(digest))).toEqual([]);
  expect(sentDigests(proxy).filter((digest) => !existed.has(digest))).toEqual([]);
});

test.concurrent("scenario 28: a file that flaps: a burst of requests at most, then one per 20 s, and its end state is registered", async ({
  expect,
}) => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  for (let version = 0; version < 16; version += 1) {
    await writeFile(robot.path("left.yaml"), `offset: ${version % 2 === 0 ? "left" : "right"}\nversion: ${version}\n`);
    // It holds still each time, so every version could be registered.
    await sleep(2.5 * SETTLE_MS);
  }
  const capped = await daemon.until(({ state }) => state === "rate-capped");
  expect(capped.summary).toContain("Files change often");
  expect((await robot.run(["status"])).code).toBe(0);
  // The first registration and two of the changes; what comes next has to wait for its turn.
  expect(proxy.requests.length).toBeLessThanOrEqual(3);
  await expectOneRobot(scene, daemon);
  const times_ms = proxy.requests.map(({ at_ms }) => at_ms);
  expect(proxy.requests.length).toBeLessThanOrEqual(4);
  expect((times_ms.at(-1) ?? 0) - (times_ms[0] ?? 0)).toBeGreaterThan(19_000);
});

test("an edit of the configuration while a large file is being hashed is not lost", async () => {
  await using scene = await createScene({
    files: { "large.bin": "x" },
    // No resync within the test's patience: only the event can tell.
    watch: `{settle_ms: ${SETTLE_MS}, resync_s: 3600}`,
  });
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  const read_bytes = await bytesRead(daemon);
  // Sparse: a second of hashing, and nothing to write.
  await truncate(robot.path("large.bin"), 1024 ** 3);
  await eventually(async () => (await bytesRead(daemon)) > read_bytes + 1024 ** 2 * 64 || undefined, "the hashing");
  await replaceIn(robot.config_path, "region: eu-central-1", "region: eu-west-1");
  await eventually(async () => (await scene.service.robots())[0]?.region === "eu-west-1" || undefined, "the edit");
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(3);
});

test("scenario 28: 1,000 rewrites in 2 s: at most 3 requests, none torn, the last one right", async () => {
  const contentOf = (version: number) => JSON.stringify({ version, padding: "x".repeat(500) });
  await using scene = await createScene({ files: { "arm.json": contentOf(0) } });
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  const { daemon: before } = await daemon.status();
  const started_ms = performance.now();
  for (let version = 1; version <= 1000; version += 1) {
    // In place and by replacement, as different programs do it.
    const path = robot.path(version % 2 === 0 ? "arm.json" : "arm.json.tmp");
    await writeFile(path, contentOf(version));
    if (version % 2 === 1) await rename(path, robot.path("arm.json"));
    const ahead_ms = version * 2 - (performance.now() - started_ms);
    if (ahead_ms > 0) await sleep(ahead_ms);
  }
  const { daemon: after } = await expectOneRobot(scene, daemon);
  const sent = sentDigests(proxy).slice(1);
  expect(sent.length).toBeLessThanOrEqual(3);
  expect(sent.at(-1)).toBe(digestOf(contentOf(1000)));
  const existed = new Set(Array.from({ length: 1001 }, (_, version) => digestOf(contentOf(version))));
  for (const digest of sent) expect(existed).toContain(digest);
  // A thousand events are not a thousand runs.
  expect((after?.runs ?? 0) - (before?.runs ?? 0)).toBeLessThan(100);
});

/** What the process has read from files so far (proc_pid_io(5)). */
async function bytesRead(daemon: Daemon): Promise<number> {
  return Number(/^rchar: (\d+)$/m.exec(await readFile(`/proc/${daemon.process_id}/io`, "utf8"))?.[1]);
}

async function writeInChunks(path: string, content: string): Promise<void> {
  const file = await open(path, "w");
  for (let from = 0; from < content.length; from += content.length / 3) {
    await file.write(content.slice(from, from + content.length / 3));
    await sleep(20);
  }
  await file.close();
}
