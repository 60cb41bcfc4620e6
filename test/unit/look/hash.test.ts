import { createHash } from "node:crypto";
import { appendFile, rename, rm, truncate, utimes, writeFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { hashFile, type HashRequest } from "../../../src/look/hash.ts";
import { type Interference, meddledFiles, robot } from "./machine.ts";

const CHUNK_BYTES = 256 * 1024;

/** Hashes a file of these bytes on a disk that interferes. */
async function hashed(bytes: Uint8Array, interference: Interference, request: Partial<HashRequest> = {}) {
  const { path } = await robot({ a: bytes });
  const files = meddledFiles(interference);
  const expected = await files.stat(path);
  let count = 0;
  const onBytes = (each: number) => void (count += each);
  const of = { path, expected, hash: true, keep: true, limitBytes: bytes.byteLength, ...request };
  const result = await hashFile(files, of, { signal: undefined, onBytes });
  expect(files.open).toBe(0);
  return { result, count };
}

const unsized: Interference = { changeStat: (stat) => ({ ...stat, sizeBytes: 0 }) };

test.each<[what: string, bytes: number, interference: Interference]>([
  ["empty", 0, {}],
  ["read in pieces of 7 bytes", 5000, { mostBytes: 7 }],
  ["of several chunks", 3 * CHUNK_BYTES + 1, {}],
  ["of several chunks, in short reads", 2 * CHUNK_BYTES + 1, { mostBytes: CHUNK_BYTES - 1 }],
  ["of size 0 by its stat", 2 * CHUNK_BYTES, unsized],
  ["shorter than its stat, as under /sys", 5, { changeStat: (stat) => ({ ...stat, sizeBytes: 4096 }) }],
])("a file %s → its hash, length and content", async (_what, size, interference) => {
  const bytes = Uint8Array.from({ length: size }, (_, index) => (index * 31 + (index >> 9)) % 251);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const { result, count } = await hashed(bytes, interference);
  expect({ ...result, content: null }).toEqual({ kind: "read", sha256, bytes: size, content: null });
  expect(result.kind === "read" && Buffer.compare(result.content ?? Buffer.of(1), bytes)).toBe(0);
  expect(count).toBe(size);
  expect((await hashed(bytes, interference, { keep: false })).result).toMatchObject({ sha256, content: null });
});

test("a file of size 0 by its stat, with more than the limit → not read further", async () => {
  expect(await hashed(new Uint8Array(CHUNK_BYTES), unsized, { limitBytes: 4000 })).toEqual({
    result: { kind: "too-large" },
    count: 4001,
  });
});

test.each<[what: string, when: "beforeOpen" | "beforeRead", move: (path: string) => Promise<unknown>]>([
  ["written", "beforeRead", (path) => writeFile(path, "other")],
  ["touched", "beforeRead", (path) => utimes(path, 1, 1)],
  ["made longer", "beforeRead", (path) => appendFile(path, "r")],
  ["emptied", "beforeRead", (path) => truncate(path, 0)],
  ["removed", "beforeOpen", (path) => rm(path)],
  ["replaced", "beforeOpen", (path) => writeFile(`${path}.new`, "first").then(() => rename(`${path}.new`, path))],
])("%s %s → moved, and nothing beyond its first length is read", async (_what, when, move) => {
  const { result, count } = await hashed(Buffer.from("first"), { [when]: move });
  expect(result).toEqual({ kind: "moved" });
  expect(count).toBeLessThanOrEqual(5);
});

test.each(["ESTALE", "EIO"])("%s → moved or failed", async (code) => {
  const fail = () => {
    throw Object.assign(new Error(code), { code });
  };
  const expected = code === "ESTALE" ? { kind: "moved" } : { kind: "failed", code };
  expect((await hashed(Buffer.from("a"), { beforeRead: fail })).result).toEqual(expected);
});
