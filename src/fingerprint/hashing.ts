import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";

import type { FileStat, Files, ReadableFile } from "../platform/files/files.ts";
import { errorCode } from "../platform/files/files.ts";
import type { HashThread, RunningHash } from "./hash-thread.ts";
import { HashThreadLost, startHashThread } from "./hash-thread.ts";
import { sameStat } from "./sightings.ts";

/** A file to read from its first byte to its last. */
export interface HashRequest {
  readonly path: string;
  /** What the last look showed; a file that is another one by now is not hashed. */
  readonly expected: FileStat;
  /** Keep the bytes for the answer. For files of a few MB at most. */
  readonly keep: boolean;
  /** Most that is read of a file that does not tell its size. */
  readonly limitBytes: number;
  /** The file never holds still: its bytes of one moment are wanted, whatever `expected` says. */
  readonly ofOneMoment: boolean;
}

export type HashResult =
  | {
      readonly kind: "hashed";
      readonly sha256: string;
      /** How many bytes that is of; files under /proc say that they are empty. */
      readonly bytes: number;
      readonly content: Uint8Array | undefined;
    }
  /** More than `limitBytes`, which only reading told. */
  | { readonly kind: "too-large" }
  /** The file changed or was replaced since the last look. */
  | { readonly kind: "moved" }
  /** The system refused, for example with `EACCES`. */
  | { readonly kind: "failed"; readonly code: string };

export interface HashOptions {
  readonly signal: AbortSignal | undefined;
  /** Bytes that were read since the last call. */
  onBytes(count: number): void;
  /** Awaited before the next file is opened, so that kept bytes do not pile up. */
  onResult(request: HashRequest, result: HashResult): Promise<void>;
  readonly startThread?: typeof startHashThread;
}

/** Large enough that system calls and messages cost nothing, small enough to hash in 20 ms on a board without SHA instructions. */
const CHUNK_BYTES = 256 * 1024;

/** Files open at the same time on this thread: while one is hashed, the system opens and reads the others. */
const LANES = 3;

/** What is read at a time of a file that does not tell its size. */
const SMALLEST_CHUNK_BYTES = 4096;

/** With a second thread: what keeps both of them busy. */
const LANES_BESIDE_THREAD = 1;
const LANES_OF_THREAD = 2;

/** A thread costs some 15 ms and 12 MB, and helps when there is this much to read beside the largest file. */
const WORTH_A_THREAD_BYTES = 32 * 1024 * 1024;

/** Where the bytes of a lane go. */
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
  // The largest first, so that none is left alone at the end.
  const queue = [...requests].sort((one, other) => other.expected.size_bytes - one.expected.size_bytes);
  const largestBytes = queue[0]?.expected.size_bytes ?? 0;
  const totalBytes = queue.reduce((total, { expected }) => total + expected.size_bytes, 0);
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
    // What a lost thread put back after this thread was done.
    await run();
  } finally {
    await thread.stop();
  }
}

function localHashers(chunkBytes: number): Hashers {
  return {
    start() {
      const hash = createHash("sha256");
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

/** open → fstat → read → fstat: the hash belongs to exactly the state that the stat describes. */
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
  const result = await hashContent(file, request.expected.size_bytes, request, hashers, options);
  return sameStat(await file.stat(), request.expected) ? result : { kind: "moved" };
}

/**
 * Of a file that is being written all the time: what it held when it was opened, which counts when the same is read twice. A log that
 * grows passes, and so does a file that is replaced; one that is written over faster than it is read does not.
 */
async function hashMoment(
  file: ReadableFile,
  request: HashRequest,
  hashers: Hashers,
  options: HashOptions,
): Promise<HashResult> {
  const stat = await file.stat();
  if (stat.kind !== "file" || stat.size_bytes > request.limitBytes) return { kind: "moved" };
  const result = await hashContent(file, stat.size_bytes, request, hashers, options);
  const again = await hashContent(file, stat.size_bytes, request, hashers, options);
  const isSame = result.kind === "hashed" && again.kind === "hashed" && result.sha256 === again.sha256;
  return isSame ? result : { kind: "moved" };
}

/** A size of zero says nothing under /proc and on some user-space filesystems: such files are read to their end. */
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

/** For files whose bytes are wanted: reads straight into `content`. */
async function hashWhole(
  file: ReadableFile,
  content: Uint8Array,
  { signal, onBytes }: HashOptions,
): Promise<HashResult> {
  const hash = createHash("sha256");
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

/** Gone, or replaced on the server of a network drive: the next look says what is there now. */
const MOVED_CODES: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ESTALE"]);

function failure(error: unknown): HashResult {
  const code = errorCode(error);
  // A lost thread, or a bug.
  if (code === undefined) throw error;
  return MOVED_CODES.has(code) ? { kind: "moved" } : { kind: "failed", code };
}

function repeat(count: number, run: () => Promise<void>): readonly Promise<void>[] {
  return Array.from({ length: count }, run);
}

/** Waits for all, so that no file is open any more when the first error is thrown. */
async function everyLane(lanes: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(lanes);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
