import { dirname } from "node:path";

import type { Finding } from "../manifest/finding.ts";
import type { Files } from "../platform/files.ts";
import { shellWord } from "../platform/shell-word.ts";

const WRITABLE_BY_OTHERS = 0o002;
/** Only its owner may replace a file in such a folder, as in /tmp. */
const STICKY = 0o1000;

/** What follows when anybody may edit a file, and how bad that is. */
export interface Exposure {
  readonly severity: Finding["severity"];
  readonly consequence: string;
}

/**
 * Findings about a file that every user of this machine may edit or replace.
 *
 * The folder is only a warning: that its mode was mended does not show in the file, which is not read again for that.
 */
export async function findExposure(files: Files, path: string, exposure: Exposure): Promise<readonly Finding[]> {
  const folder = dirname(path);
  const [file_stat, folder_stat] = await Promise.all([path, folder].map((each) => files.stat(each).catch(() => null)));
  const found: Finding[] = [];
  const add = (severity: Finding["severity"], where: string, mode: number) => {
    const octal = (mode & 0o7777).toString(8).padStart(4, "0");
    const message = `${where} has mode ${octal}: ${exposure.consequence}; chmod o-w ${shellWord(where)}`;
    found.push({ id: "writable_by_others", severity, loc: "", message, line: 1, column: 1 });
  };
  if (file_stat && (file_stat.mode & WRITABLE_BY_OTHERS) !== 0) add(exposure.severity, path, file_stat.mode);
  if (folder_stat && (folder_stat.mode & (WRITABLE_BY_OTHERS | STICKY)) === WRITABLE_BY_OTHERS) {
    add("warning", folder, folder_stat.mode);
  }
  return found;
}
