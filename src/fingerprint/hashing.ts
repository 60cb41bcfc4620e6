import { availableParallelism } from "node:os";

import { createSha256 } from "../platform/crypto.ts";
import type { FileStat, Files, ReadableFile } from "../platform/files/files.ts";
import { errorCode } from "../platform/files/files.ts";
import type { HashThread, RunningHash } from "./hash-thread.ts";
import { HashThreadLost, startHashThread } from "./hash-thread.ts";
import { sameStat } from "./observations.ts";

/** A file to read from its first byte to its last. */
export interface HashRequest {
  readonly path: string;
  /** The last known stat. A file with another stat is not hashed. */
  readonly expected: FileStat;
  /** Return the content too. For files of a few MB at most. */
  readonly keep: boolean;
  /** Bound for a file whose stat says size 0. */
  readonly limitBytes: number;
  /** Hash the file although it changes all the time: its content at one moment, whatever `expected` says. */
  readonly ofOneMoment: boolean;
}

export type HashResult =
  | {
      readonly kind: "hashed";
      readonly sha256: string;
      /** Bytes that were hashed. Can differ from the stat: files under /proc have size 0. */
      readonly bytes: number;
      readonly content: Uint8Array | undefined;
    }
  /** The file has size 0 by its stat, but more than `limitBytes` could be read. */
  | { readonly kind: "too-large" }
  /** The file changed or was replaced since `expected`. */
  | { readonly kind: "moved" }
  /** The system refused, for example with `EACCES`. */
  | { readonly kind: "failed"; readonly code: string };

export interface HashOptions {
  readonly signal: AbortSignal | undefined;
  /** Called with the number of bytes read since the last call. */
  onBytes(count: number): void;
  /** Awaited before the next file is opened, which bounds the memory for kept content. */
  onResult(request: HashRequest, result: HashResult): Promise<void>;
  readonly startThread?: typeof startHashThread;
}

/** Large enough that system calls and messages are cheap; a board without SHA instructions hashes it in 20 ms. */
const CHUNK_BYTES = 256 * 1024;

/** Files that this thread hashes at the same time: while one is hashed, the others are opened and read. */
const LANES = 3;

/** The chunk for files that are small, or have size 0 by their stat. */
const SMALLEST_CHUNK_BYTES = 4096;

/** With a second thread, these keep both threads busy. */
const LANES_BESIDE_THREAD = 1;
const LANES_OF_THREAD = 2;

/** A thread costs about 15 ms and 12 MB. It pays off when there is this much to read beside the largest file. */
const WORTH_A_THREAD_BYTES = 32 * 1024 * 1024;

/** The hash function and buffers of one lane. */
interface Hashers {
  start(): RunningHash;
  /** Two buffers: one is hashed while the other is filled. */
  readonly buffers: readonly [Uint8Array, Uint8Array];
}

/**
 * Hashes all files, several at a time, with bounded memory whatever their sizes.
 *
 * @throws `options.signal.reason` when the signal aborts; every file is closed by then.
 */
export async function hashFiles(files: Files, requests: readonly HashRequest[], options: HashOptions): Promise<void> {
  // Largest first, so that the lanes finish at about the same time.
  const queue = [...requests].sort((one, other) => other.expected.sizeBytes - one.expected.sizeBytes);
  const largestBytes = queue[0]?.expected.sizeBytes ?? 0;
  const totalBytes = queue.reduce((total, { expected }) => total + expected.sizeBytes, 0);
  const chunkBytes = Math.min(CHUNK_BYTES, Math.max(SMALLEST_CHUNK_BYTES, largestBytes));
  const run = () => drain(files, queue, localHashers(chunkBytes), options);

  const isWorthIt = totalBytes - largestBytes >= WORTH_A_THREAD_BYTES && availableParallelism() > 1;
  const thread = isWorthIt ? await (options.startThread ?? startHashThread)() : undefined;
  if (thread === undefined) {
    await everyLane(repeat(Math.min(LANES, queue.length), run));
    return;
  }
  try {
    const runThere = () => drain(files, queue, sharedHashers(thread, chunkBytes), options);
    await everyLane([...repeat(LANES_BESIDE_THREAD, run), ...repeat(LANES_OF_THREAD, runThere)]);
    // Files that a lost thread put back after the other lanes were done.
    await run();
  } finally {
    await thread.stop();
  }
}

function localHashers(chunkBytes: number): Hashers {
  return {
    start() {
      const hash = createSha256();
      return {
        update(bytes) {
          hash.update(bytes);
        },
        digest: () => hash.digest("hex"),
      };
    },
    buffers: [new Uint8Array(chunkBytes), new Uint8Array(chunkBytes)],
  };
}

function sharedHashers(thread: HashThread, chunkBytes: number): Hashers {
  const buffer = () => new Uint8Array(new SharedArrayBuffer(chunkBytes));
  return { start: thread.start, buffers: [buffer(), buffer()] };
}

/** Takes files off the queue until it is empty. */
async function drain(files: Files, queue: HashRequest[], hashers: Hashers, options: HashOptions): Promise<void> {
  for (let request = queue.shift(); request !== undefined; request = queue.shift()) {
    try {
      await options.onResult(request, await hashFile(files, request, hashers, options));
    } catch (error) {
      if (!(error instanceof HashThreadLost)) throw error;
      queue.push(request);
      return;
    }
  }
}

/** open → fstat → read → fstat, so that hash and stat describe the same state. */
async function hashFile(
  files: Files,
  request: HashRequest,
  hashers: Hashers,
  options: HashOptions,
): Promise<HashResult> {
  options.signal?.throwIfAborted();
  try {
    const file = await files.openForReading(request.path);
    try {
      return request.ofOneMoment
        ? await hashMoment(file, request, hashers, options)
        : await hashStill(file, request, hashers, options);
    } finally {
      await file.close();
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    return failure(error);
  }
}

async function hashStill(
  file: ReadableFile,
  request: HashRequest,
  hashers: Hashers,
  options: HashOptions,
): Promise<HashResult> {
  if (!sameStat(await file.stat(), request.expected)) return { kind: "moved" };
  const result = await hashContent(file, request.expected.sizeBytes, request, hashers, options);
  return sameStat(await file.stat(), request.expected) ? result : { kind: "moved" };
}

/**
 * Hashes a file that is written all the time, up to the size it had when it was opened. The hash counts when two reads agree: true for a
 * log that grows and for a file that is replaced by rename, not for one that is overwritten faster than it is read.
 */
async function hashMoment(
  file: ReadableFile,
  request: HashRequest,
  hashers: Hashers,
  options: HashOptions,
): Promise<HashResult> {
  const stat = await file.stat();
  if (stat.kind !== "file" || stat.sizeBytes > request.limitBytes) return { kind: "moved" };
  const result = await hashContent(file, stat.sizeBytes, request, hashers, options);
  const again = await hashContent(file, stat.sizeBytes, request, hashers, options);
  const isSame = result.kind === "hashed" && again.kind === "hashed" && result.sha256 === again.sha256;
  return isSame ? result : { kind: "moved" };
}

/** Files under /proc and on some user-space filesystems have size 0 in their stat: those are read to their end. */
async function hashContent(
  file: ReadableFile,
  sizeBytes: number,
  { keep, limitBytes }: HashRequest,
  hashers: Hashers,
  options: HashOptions,
): Promise<HashResult> {
  if (keep && sizeBytes > 0) return hashWhole(file, new Uint8Array(sizeBytes), options);
  const result = await hashStream(file, sizeBytes > 0 ? sizeBytes : limitBytes + 1, hashers, options);
  return sizeBytes === 0 && result.bytes > limitBytes ? { kind: "too-large" } : result;
}

/** Reads one chunk ahead of the hash, up to the end of the file or `mostBytes`. */
async function hashStream(
  file: ReadableFile,
  mostBytes: number,
  { start, buffers }: Hashers,
  { signal, onBytes }: HashOptions,
): Promise<HashResult & { readonly kind: "hashed" }> {
  const hash = start();
  let [current, spare] = buffers;
  let position = 0;
  const readAhead = (buffer: Uint8Array) =>
    position < mostBytes
      ? file.read(buffer.subarray(0, Math.min(buffer.byteLength, mostBytes - position)), position)
      : 0;

  let count = await readAhead(current);
  while (count > 0) {
    signal?.throwIfAborted();
    position += count;
    onBytes(count);
    const ahead = readAhead(spare);
    [count] = await Promise.all([ahead, hash.update(current.subarray(0, count))]);
    [current, spare] = [spare, current];
  }
  return { kind: "hashed", sha256: await hash.digest(), bytes: position, content: undefined };
}

/** For requests with `keep`: reads into `content`. */
async function hashWhole(
  file: ReadableFile,
  content: Uint8Array,
  { signal, onBytes }: HashOptions,
): Promise<HashResult> {
  const hash = createSha256();
  let position = 0;
  while (position < content.byteLength) {
    signal?.throwIfAborted();
    const chunk = content.subarray(position, position + CHUNK_BYTES);
    const count = await file.read(chunk, position);
    if (count === 0) break;
    hash.update(chunk.subarray(0, count));
    position += count;
    onBytes(count);
  }
  return { kind: "hashed", sha256: hash.digest("hex"), bytes: position, content: content.subarray(0, position) };
}

/** The file was removed, or replaced on the server of a network drive. */
const MOVED_CODES: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ESTALE"]);

function failure(error: unknown): HashResult {
  const code = errorCode(error);
  // HashThreadLost, or a bug.
  if (code === undefined) throw error;
  return MOVED_CODES.has(code) ? { kind: "moved" } : { kind: "failed", code };
}

function repeat(count: number, run: () => Promise<void>): readonly Promise<void>[] {
  return Array.from({ length: count }, run);
}

/** Waits for all lanes, so that every file is closed before the first error is thrown. */
async function everyLane(lanes: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(lanes);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
