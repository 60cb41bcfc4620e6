import { dirname } from "node:path";

import type { FileOwner, Files, WritableFile } from "./files.ts";
import { errorCode } from "./files.ts";

/** Suffix of the one temporary file beside each durable file; a leftover of a power cut is replaced by the next write. */
const TEMPORARY_SUFFIX = ".new";

/**
 * Replaces `path` with `bytes` so that after a power cut at any moment either the old or the new content is there, whole.
 *
 * Order matters: the bytes are on the disk before the name points to them, and the name is on the disk before this resolves
 * (rename(2) alone promises neither).
 *
 * @throws Node system errors such as ENOSPC or EROFS; the old content then still stands.
 */
export async function replaceDurably(
  files: Files,
  path: string,
  bytes: Uint8Array,
  mode: number,
  owner?: FileOwner,
): Promise<void> {
  const temporary = path + TEMPORARY_SUFFIX;
  const file = await createAnew(files, temporary, mode, owner);
  // Where the disk is told at once what became free (mount option `discard`), a rename waits for that, unless somebody has the old
  // file open. It is freed when it is closed, and nobody waits.
  const opening = files.openForReading(path).catch(() => null);
  try {
    try {
      await file.write(bytes);
      await file.sync();
    } finally {
      await Promise.all([file.close(), opening]);
    }
    await files.rename(temporary, path);
    await files.syncDirectory(dirname(path));
  } finally {
    void opening.then((old) => old?.close()).catch(() => {});
  }
}

/** In place of what a power cut left, which is rare: nothing is removed before something is there. */
async function createAnew(files: Files, path: string, mode: number, owner?: FileOwner): Promise<WritableFile> {
  try {
    return await files.createExclusive(path, mode, owner);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    await removeIfPresent(files, path);
    return files.createExclusive(path, mode, owner);
  }
}

/** Removes the file; a file that is not there is no error. */
export async function removeIfPresent(files: Files, path: string): Promise<void> {
  try {
    await files.remove(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** What is read of a file that claims to be empty. */
const SMALLEST_READ_BYTES = 4096;

/**
 * Reads a whole small file.
 *
 * @returns the bytes, or `too-large` when the file holds more than `limitBytes`.
 * @throws Node system errors; EISDIR or EINVAL where the path is not a regular file.
 */
export async function readBounded(files: Files, path: string, limitBytes: number): Promise<Uint8Array | "too-large"> {
  const file = await files.openForReading(path);
  try {
    const stat = await file.stat();
    if (stat.kind !== "file")
      throw Object.assign(new Error(`Cannot read ${path}: not a regular file`), { code: "EINVAL" });
    if (stat.size_bytes > limitBytes) return "too-large";
    // A size of zero says nothing under /proc, and a file may grow: the buffer follows what is read, one byte beyond the limit at most.
    let buffer = new Uint8Array(Math.min(limitBytes, Math.max(stat.size_bytes, SMALLEST_READ_BYTES)) + 1);
    let length = 0;
    for (;;) {
      const count = await file.read(buffer.subarray(length), length);
      length += count;
      if (length > limitBytes) return "too-large";
      // A short read is the end, but for the files that claim to be empty.
      const isEnd = stat.size_bytes > 0 && length >= stat.size_bytes && length < buffer.byteLength;
      if (count === 0 || isEnd) return buffer.subarray(0, length);
      if (length < buffer.byteLength) continue;
      const larger = new Uint8Array(Math.min(limitBytes + 1, buffer.byteLength * 2));
      larger.set(buffer);
      buffer = larger;
    }
  } finally {
    await file.close();
  }
}
