import { dirname } from "node:path";

import { removeIfPresent } from "../../platform/files/durable-file.ts";
import { errorCode, type Files, type WritableFile } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";

/** Checks before the key is created that it can be written to this path. @returns null where no problem is found. */
export async function keyFileProblem(path: string, files: Files): Promise<Problem | null> {
  try {
    await files.linkStat(path);
    const what = `cannot write the key to ${path}: the file exists already`;
    return { code: "key-file-exists", what, where: path, fix: "give another path, or remove it first" };
  } catch (error) {
    const code = errorCode(error);
    if (code !== "ENOENT") return unwritable(path, error);
  }
  try {
    const { kind } = await files.stat(dirname(path));
    if (kind === "directory") return null;
    return unwritable(path, Object.assign(new Error("not a folder"), { code: "ENOTDIR" }));
  } catch (error) {
    return unwritable(path, error);
  }
}

/** Writes a key to a new file with mode 0600. @returns null, or why it could not be written. */
export async function writeKeyFile(path: string, key: string, files: Files): Promise<Problem | null> {
  try {
    const file = await files.createExclusive(path, 0o600);
    try {
      await writeWhole(file, key);
      await files.syncDirectory(dirname(path));
    } catch (error) {
      // Remove the incomplete file: it would make the next try fail.
      await removeIfPresent(files, path).catch(() => {});
      throw error;
    }
    return null;
  } catch (error) {
    return unwritable(path, error);
  }
}

async function writeWhole(file: WritableFile, key: string): Promise<void> {
  try {
    await file.write(new TextEncoder().encode(`${key}\n`));
    await file.sync();
  } finally {
    await file.close();
  }
}

function unwritable(path: string, error: unknown): Problem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const fix = "give a path in an existing folder that you may write to";
  return { code: "key-file-unwritable", what: `cannot write the key to ${path} (${code})`, where: path, fix };
}
