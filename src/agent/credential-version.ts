import type { Files, FileStat } from "../platform/files.ts";
import { errorCode } from "../platform/files.ts";

/** One word that changes when a file that may hold the key is replaced, appears or goes. Nothing is read. */
export async function credentialVersion(files: Files, paths: readonly string[]): Promise<string> {
  const versions: string[] = [];
  for (const path of paths) {
    try {
      versions.push(describe(await files.stat(path)));
    } catch (error) {
      versions.push(errorCode(error) ?? "UNKNOWN");
    }
  }
  return versions.join(" ");
}

/** The same, synchronously. Local filesystems only. */
export function credentialVersionNow(files: Files, paths: readonly string[]): string {
  const versions = paths.map((path) => {
    try {
      return describe(files.statNow(path));
    } catch (error) {
      return errorCode(error) ?? "UNKNOWN";
    }
  });
  return versions.join(" ");
}

function describe(stat: FileStat): string {
  return `${stat.device}:${stat.inode}:${stat.mtime_ns}:${stat.ctime_ns}`;
}
