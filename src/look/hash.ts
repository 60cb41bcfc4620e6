import { createSha256 } from "../platform/crypto.ts";
import { errorCode, type FileStat, type ReadableFile, sameStat } from "../platform/files/files.ts";
import type { LookFiles } from "./devices.ts";

/** A file to read from its first byte to its last, and to hash unless `hash` is false. */
export interface HashRequest {
  readonly path: string;
  /** The last known stat. A file with another stat is not hashed. */
  readonly expected: FileStat;
  readonly hash: boolean;
  /** Return the content, too. For files of a few MB at most. */
  readonly keep: boolean;
  /** Bound for a file whose stat says size 0, as under /proc. */
  readonly limitBytes: number;
}

export interface HashOptions {
  readonly signal: AbortSignal | undefined;
  /** Called after each chunk with its size; the next chunk is hashed once it resolved. */
  onBytes(count: number): void | Promise<void>;
}

export type HashResult =
  /** `bytes` were read; it can differ from the stat, because files under /proc have size 0. */
  | {
      readonly kind: "read";
      readonly sha256: string | null;
      readonly bytes: number;
      readonly content: Uint8Array | null;
    }
  /** The file has size 0 by its stat, but more than `limitBytes` could be read. */
  | { readonly kind: "too-large" }
  /** The file changed or was replaced since `expected`. */
  | { readonly kind: "moved" }
  /** The system refused, for example with `EACCES`. */
  | { readonly kind: "failed"; readonly code: string };

/** Large enough that system calls are cheap; a board without SHA instructions hashes it in 20 ms. */
const CHUNK_BYTES = 256 * 1024;
const SMALLEST_CHUNK_BYTES = 4096;

/** The file was removed, or replaced on the server of a network drive. */
const MOVED_CODES: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ESTALE"]);

/**
 * Hashes one file: open → fstat → read → fstat, so that hash and stat describe the same state. Memory is bounded whatever the size.
 *
 * @throws `options.signal.reason` when the signal aborts; the file is closed by then.
 */
export async function hashFile(files: LookFiles, request: HashRequest, options: HashOptions): Promise<HashResult> {
  options.signal?.throwIfAborted();
  try {
    const file = await files.openForReading(request.path);
    try {
      if (!sameStat(await file.stat(), request.expected)) return { kind: "moved" };
      const result = await hashContent(file, request, options);
      return sameStat(await file.stat(), request.expected) ? result : { kind: "moved" };
    } finally {
      await file.close();
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    const code = errorCode(error);
    if (code === undefined) throw error;
    return MOVED_CODES.has(code) ? { kind: "moved" } : { kind: "failed", code };
  }
}

/** Reads one chunk ahead of the hash, so that disk and processor work at the same time. */
async function hashContent(
  file: ReadableFile,
  { expected, hash: isHashed, keep, limitBytes }: HashRequest,
  { signal, onBytes }: HashOptions,
): Promise<HashResult> {
  const mostBytes = expected.sizeBytes > 0 ? expected.sizeBytes : limitBytes + 1;
  const chunkBytes = Math.min(CHUNK_BYTES, Math.max(expected.sizeBytes, SMALLEST_CHUNK_BYTES));
  const hash = isHashed ? createSha256() : null;
  const kept: Uint8Array[] = [];
  let current = new Uint8Array(chunkBytes);
  let spare = new Uint8Array(chunkBytes);
  let bytes = 0;
  const readAhead = (buffer: Uint8Array) =>
    bytes < mostBytes ? file.read(buffer.subarray(0, Math.min(buffer.byteLength, mostBytes - bytes)), bytes) : 0;

  let count = await readAhead(current);
  while (count > 0) {
    signal?.throwIfAborted();
    bytes += count;
    const ahead = readAhead(spare);
    const chunk = current.subarray(0, count);
    hash?.update(chunk);
    if (keep) kept.push(chunk.slice());
    [count] = await Promise.all([ahead, onBytes(count)]);
    [current, spare] = [spare, current];
  }
  if (bytes > limitBytes && expected.sizeBytes === 0) return { kind: "too-large" };
  const sha256 = hash === null ? null : hash.digest("hex");
  return { kind: "read", sha256, bytes, content: keep ? Buffer.concat(kept) : null };
}
