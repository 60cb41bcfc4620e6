import { createHash } from "node:crypto";
import { appendFile, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test, vi } from "vitest";

import { HashThreadLost, startHashThread } from "../../../src/fingerprint/hash-thread.ts";
import type { HashRequest, HashResult } from "../../../src/fingerprint/hash-file.ts";
import { hashFiles, type HashOptions } from "../../../src/fingerprint/hashing.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { meddledFiles, temporaryFolder } from "./machine.ts";

/** Enough data to start a second thread. */
const COUNT = 8;
const SIZE_BYTES = 5_000_001;

async function manyFiles() {
  const folder = await temporaryFolder();
  const expected = new Map<string, string>();
  const requests: HashRequest[] = [];
  for (let index = 0; index < COUNT; index++) {
    const path = join(folder, `${index}`);
    const bytes = Buffer.alloc(SIZE_BYTES, `file ${index} `);
    await writeFile(path, bytes);
    expected.set(path, createHash("sha256").update(bytes).digest("hex"));
    requests.push({ path, expected: await systemFiles.stat(path), keep: false, limitBytes: 0, ofOneMoment: false });
  }
  return { requests, expected };
}

async function hash(requests: readonly HashRequest[], options: Partial<HashOptions>) {
  const results = new Map<string, string>();
  const files = meddledFiles();
  await hashFiles(files, requests, {
    signal: undefined,
    onBytes() {},
    async onResult({ path }, result) {
      expect(results.has(path)).toBe(false);
      results.set(path, result.kind === "hashed" ? result.sha256 : result.kind);
    },
    ...options,
  });
  expect(files.open).toBe(0);
  return results;
}

describe("hashFiles: much to read", () => {
  test("second thread → hashes a part", async () => {
    const { requests, expected } = await manyFiles();
    let started = 0;
    // Started before the work: on a busy machine the main thread would finish before the thread is ready.
    const thread = await startHashThread();
    const startThread: typeof startHashThread = async () =>
      thread && { ...thread, start: () => (started++, thread.start()) };
    expect(await hash(requests, { startThread })).toEqual(expected);
    expect(started).toBeGreaterThan(0);
    expect(started).toBeLessThan(COUNT);
  });

  test("no second thread → the main thread hashes all, and the event loop keeps running", async () => {
    const { requests, expected } = await manyFiles();
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    expect(await hash(requests, { startThread: async () => undefined })).toEqual(expected);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
  });

  test("the thread dies half-way → the main thread hashes the rest", async () => {
    const { requests, expected } = await manyFiles();
    let stop: (() => Promise<void>) | undefined;
    let readBytes = 0;
    const startThread: typeof startHashThread = async () => {
      const thread = await startHashThread();
      stop = thread?.stop;
      return thread;
    };
    const onBytes = (count: number) => {
      readBytes += count;
      if (readBytes < 10_000_000) return;
      void stop?.();
      stop = undefined;
    };
    expect(await hash(requests, { startThread, onBytes })).toEqual(expected);
  });
});

test("hashFiles: a file that grew beyond what is parsed → hashed without keeping its content", async () => {
  const path = join(await temporaryFolder(), "grown.yaml");
  await writeFile(path, "a: 1\n");
  const expected = await systemFiles.stat(path);
  await writeFile(path, "a: 1\n".repeat(100_000));
  const request = { path, expected, keep: true, limitBytes: 1_000_000, ofOneMoment: true };
  const results: HashResult[] = [];
  await hashFiles(systemFiles, [request], {
    signal: undefined,
    onBytes() {},
    async onResult(_request, result) {
      results.push(result);
    },
  });
  expect(results).toMatchObject([{ kind: "hashed", bytes: 500_000, content: undefined }]);
});

test("hashFiles: the thread dies with the last files → the main thread hashes them", async () => {
  const { requests, expected } = await manyFiles();
  const reported = Promise.withResolvers<void>();
  const results = new Map<string, string>();
  let lanes = 0;
  // Each lane of the thread holds one file and loses it after all others are done.
  const startThread: typeof startHashThread = async () => ({
    start() {
      lanes += 1;
      return {
        update: async () => {},
        async digest() {
          await reported.promise;
          throw new HashThreadLost();
        },
      };
    },
    stop: async () => {},
  });
  await hashFiles(systemFiles, requests, {
    signal: undefined,
    onBytes() {},
    async onResult({ path }, result) {
      results.set(path, result.kind === "hashed" ? result.sha256 : result.kind);
      if (results.size + lanes === COUNT) reported.resolve();
    },
    startThread,
  });
  expect(lanes).toBeGreaterThan(0);
  expect(results).toEqual(expected);
});

describe("hashFiles: one file", () => {
  const moves: readonly (readonly [what: string, move: (path: string) => Promise<void>])[] = [
    ["written", (path) => writeFile(path, "other")],
    ["touched", (path) => utimes(path, 1, 1)],
    ["made longer", (path) => appendFile(path, "r")],
    ["emptied", (path) => truncate(path, 0)],
  ];

  test.each(moves)("%s while it is read → moved", async (_what, move) => {
    const path = join(await temporaryFolder(), "a");
    await writeFile(path, "first");
    const request = { path, expected: await systemFiles.stat(path), keep: false, limitBytes: 0, ofOneMoment: false };
    for (const keep of [false, true]) {
      const files = meddledFiles({ beforeRead: move });
      const onResult = vi.fn<HashOptions["onResult"]>();
      await hashFiles(files, [{ ...request, keep }], { signal: undefined, onBytes() {}, onResult });
      expect(onResult.mock.calls.map(([, result]) => result)).toEqual([{ kind: "moved" }]);
    }
  });
});

describe("startHashThread", () => {
  test("several hashes → independent of each other", async () => {
    const thread = await startHashThread();
    if (thread === undefined) throw new Error("no thread");
    const shared = (text: string) => {
      const bytes = new Uint8Array(new SharedArrayBuffer(text.length));
      bytes.set(Buffer.from(text));
      return bytes;
    };
    const [one, other] = [thread.start(), thread.start()];
    await one.update(shared("on"));
    await other.update(shared("other"));
    await one.update(shared("e"));
    expect(await one.digest()).toBe(createHash("sha256").update("one").digest("hex"));
    expect(await other.digest()).toBe(createHash("sha256").update("other").digest("hex"));
    await thread.stop();
    await expect(thread.start().digest()).rejects.toMatchObject({ name: "HashThreadLost" });
  });
});
