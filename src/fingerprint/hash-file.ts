import { createSha256 } from "../platform/crypto.ts";
import { errorCode, type Files, type FileStat, type ReadableFile, sameStat } from "../platform/files/files.ts";
import type { RunningHash } from "./hash-thread.ts";
import { isParsable } from "./parses.ts";

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

/** What a read reports to, and what ends it. */
export interface Reading {
  readonly signal: AbortSignal | undefined;
  /** Called with the number of bytes read since the last call. */
  onBytes(count: number): void;
}

/** The hash function and buffers of one lane. */
export interface Hashers {
  start(): RunningHash;
  /** Two buffers: one is hashed while the other is filled. */
  readonly buffers: readonly [Uint8Array, Uint8Array];
}

/** Large enough that system calls and messages are cheap; a board without SHA instructions hashes it in 20 ms. */
export const CHUNK_BYTES = 256 * 1024;

/**
 * Hashes one file: open → fstat → read → fstat, so that hash and stat describe the same state.
 *
 * @throws `HashThreadLost`, and `reading.signal.reason` when the signal aborts; the file is closed by then.
 */
export async function hashFile(
  files: Files,
  request: HashRequest,
  hashers: Hashers,
  reading: Reading,
): Promise<HashResult> {
  reading.signal?.throwIfAborted();
  try {
    const file = await files.openForReading(request.path);
    try {
      return request.ofOneMoment
        ? await hashMoment(file, request, hashers, reading)
        : await hashStill(file, request, hashers, reading);
    } finally {
      await file.close();
    }
  } catch (error) {
    reading.signal?.throwIfAborted();
    return failure(error);
  }
}

async function hashStill(
  file: ReadableFile,
  request: HashRequest,
  hashers: Hashers,
  reading: Reading,
): Promise<HashResult> {
  if (!sameStat(await file.stat(), request.expected)) return { kind: "moved" };
  const result = await hashContent(file, request.expected.sizeBytes, request, hashers, reading);
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
  reading: Reading,
): Promise<HashResult> {
  const stat = await file.stat();
  if (stat.kind !== "file" || stat.sizeBytes > request.limitBytes) return { kind: "moved" };
  // It may have grown since the look that decided to keep it.
  const now = { ...request, keep: request.keep && isParsable(request.path, stat.sizeBytes) };
  const result = await hashContent(file, stat.sizeBytes, now, hashers, reading);
  const again = await hashContent(file, stat.sizeBytes, now, hashers, reading);
  const isSame = result.kind === "hashed" && again.kind === "hashed" && result.sha256 === again.sha256;
  return isSame ? result : { kind: "moved" };
}

/** Files under /proc and on some user-space filesystems have size 0 in their stat: those are read to their end. */
async function hashContent(
  file: ReadableFile,
  sizeBytes: number,
  { keep, limitBytes }: HashRequest,
  hashers: Hashers,
  reading: Reading,
): Promise<HashResult> {
  if (keep && sizeBytes > 0) return hashWhole(file, new Uint8Array(sizeBytes), reading);
  const result = await hashStream(file, sizeBytes > 0 ? sizeBytes : limitBytes + 1, hashers, reading);
  return sizeBytes === 0 && result.bytes > limitBytes ? { kind: "too-large" } : result;
}

/** Reads one chunk ahead of the hash, up to the end of the file or `mostBytes`. */
async function hashStream(
  file: ReadableFile,
  mostBytes: number,
  { start, buffers }: Hashers,
  { signal, onBytes }: Reading,
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
async function hashWhole(file: ReadableFile, content: Uint8Array, { signal, onBytes }: Reading): Promise<HashResult> {
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
