import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";

import type { FileStat, Files, ReadableFile } from "../platform/files.ts";
import { errorCode } from "../platform/files.ts";
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
}

export type HashResult =
  | { readonly kind: "hashed"; readonly sha256: string; readonly content: Uint8Array | undefined }
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
  const largest_bytes = queue[0]?.expected.size_bytes ?? 0;
  const total_bytes = queue.reduce((total, { expected }) => total + expected.size_bytes, 0);
  const chunk_bytes = Math.min(CHUNK_BYTES, Math.max(1, largest_bytes));
  const run = () => drain(files, queue, localHashers(chunk_bytes), options);

  const is_worth_it = total_bytes - largest_bytes >= WORTH_A_THREAD_BYTES && availableParallelism() > 1;
  const thread = is_worth_it ? await (options.startThread ?? startHashThread)() : undefined;
  if (thread === undefined) {
    await everyLane(repeat(Math.min(LANES, queue.length), run));
    return;
  }
  try {
    const runThere = () => drain(files, queue, sharedHashers(thread, chunk_bytes), options);
    await everyLane([...repeat(LANES_BESIDE_THREAD, run), ...repeat(LANES_OF_THREAD, runThere)]);
    // What a lost thread put back after this thread was done.
    await run();
  } finally {
    await thread.stop();
  }
}

function localHashers(chunk_bytes: number): Hashers {
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
    buffers: [new Uint8Array(chunk_bytes), new Uint8Array(chunk_bytes)],
  };
}

function sharedHashers(thread: HashThread, chunk_bytes: number): Hashers {
  const buffer = () => new Uint8Array(new SharedArrayBuffer(chunk_bytes));
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
      if (!sameStat(await file.stat(), request.expected)) return { kind: "moved" };
      const content = request.keep ? new Uint8Array(request.expected.size_bytes) : undefined;
      const sha256 =
        content === undefined
          ? await hashStream(file, request.expected.size_bytes, hashers, options)
          : await hashWhole(file, content, options);
      if (sha256 === undefined || !sameStat(await file.stat(), request.expected)) return { kind: "moved" };
      return { kind: "hashed", sha256, content };
    } finally {
      await file.close();
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    return failure(error);
  }
}

/** Reads one chunk ahead of the hash. @returns undefined when the file ends early. */
async function hashStream(
  file: ReadableFile,
  size_bytes: number,
  { start, buffers }: Hashers,
  { signal, onBytes }: HashOptions,
): Promise<string | undefined> {
  const hash = start();
  let [current, spare] = buffers;
  let position = 0;
  const readAhead = (buffer: Uint8Array) =>
    position < size_bytes
      ? file.read(buffer.subarray(0, Math.min(buffer.byteLength, size_bytes - position)), position)
      : 0;

  let count = await readAhead(current);
  while (position < size_bytes) {
    signal?.throwIfAborted();
    if (count === 0) return undefined;
    position += count;
    onBytes(count);
    const ahead = readAhead(spare);
    [count] = await Promise.all([ahead, hash.update(current.subarray(0, count))]);
    [current, spare] = [spare, current];
  }
  return hash.digest();
}

/** For files whose bytes are wanted: reads straight into `content`. @returns undefined when the file ends early. */
async function hashWhole(
  file: ReadableFile,
  content: Uint8Array,
  { signal, onBytes }: HashOptions,
): Promise<string | undefined> {
  const hash = createHash("sha256");
  let position = 0;
  while (position < content.byteLength) {
    signal?.throwIfAborted();
    const chunk = content.subarray(position, position + CHUNK_BYTES);
    const count = await file.read(chunk, position);
    if (count === 0) return undefined;
    hash.update(chunk.subarray(0, count));
    position += count;
    onBytes(count);
  }
  return hash.digest("hex");
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
