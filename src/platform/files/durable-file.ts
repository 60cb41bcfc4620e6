import { dirname } from "node:path";

import { errorCode, type FileOwner, type Files, type WritableFile } from "./files.ts";

/** Suffix of the one temporary file beside each durable file; a leftover of a power cut is replaced by the next write. */
const TEMPORARY_SUFFIX = ".new";

/**
 * Replaces `path` with `bytes` so that after a power cut at any moment the file has either the old or the new content.
 *
 * Order matters: the bytes are on disk before the name points to them, and the name is on disk before this resolves (rename(2) alone
 * guarantees neither).
 *
 * @throws Node system errors such as ENOSPC or EROFS; the old content is then unchanged.
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
  // With the mount option `discard`, rename(2) waits until the blocks of the old file are discarded, unless the file is open. So keep it
  // open; its blocks are freed at the close, which is not awaited.
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
  } catch (error) {
    await files.remove(temporary).catch(() => {});
    throw error;
  } finally {
    void opening.then((old) => old?.close()).catch(() => {});
  }
}

/** Creates the temporary file; removes a leftover of a power cut only when creation fails because of it. */
async function createAnew(files: Files, path: string, mode: number, owner?: FileOwner): Promise<WritableFile> {
  try {
    return await files.createExclusive(path, mode, owner);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    await removeIfPresent(files, path);
    return files.createExclusive(path, mode, owner);
  }
}

/** Removes the file; a missing file is no error. */
export async function removeIfPresent(files: Files, path: string): Promise<void> {
  try {
    await files.remove(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

const CHUNK_BYTES = 16 * 1024;

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
    if (stat.sizeBytes > limitBytes) return "too-large";
    // Read to its end, because files under /proc have size 0, and a file may grow, up to one byte beyond the limit.
    const chunks: Uint8Array[] = [];
    let length = 0;
    while (length <= limitBytes) {
      const buffer = new Uint8Array(Math.min(CHUNK_BYTES, limitBytes + 1 - length));
      const count = await file.read(buffer, length);
      if (count === 0) return Buffer.concat(chunks);
      chunks.push(buffer.subarray(0, count));
      length += count;
    }
    return "too-large";
  } finally {
    await file.close();
  }
}
