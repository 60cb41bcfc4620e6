/** Checks whether `init` may write to the files. */
import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";

import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";

/** Refuses to overwrite existing files without --force. */
export async function findExisting(files: Files, paths: readonly string[]): Promise<Problem | null> {
  for (const path of paths) {
    try {
      await files.linkStat(path);
    } catch (error) {
      if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") continue;
      return unwritable(error, path);
    }
    return { code: "exists", what: "the file exists already", where: path, fix: "to replace it: --force" };
  }
  return null;
}

/** Checked before the first question, so that no answers are lost. @param nearest the folder, or its nearest existing parent. */
export async function findUnwritable(directory: string, nearest: string): Promise<Problem | null> {
  try {
    await access(nearest, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    if (errorCode(error) === "ENOENT" && dirname(nearest) !== nearest)
      return findUnwritable(directory, dirname(nearest));
    return unwritable(error, directory);
  }
}

export function unwritable(error: unknown, where: string): Problem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const fix =
    code === "EACCES" || code === "EPERM"
      ? "run it as root, or write elsewhere: --dir DIR"
      : "choose another place: --dir DIR";
  return { code: "not-writable", what: `cannot write there (${code})`, where, fix };
}
