import { dirname } from "node:path";

import type { Finding } from "../../manifest/finding.ts";
import type { Files } from "../../platform/files/files.ts";
import { octal } from "../../platform/text/octal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";

const WRITABLE_BY_OTHERS = 0o002;
/** In a sticky folder such as /tmp, only its owner may replace a file. */
const STICKY = 0o1000;

/** The consequence when every user may edit a file, and its severity. */
export interface Exposure {
  readonly severity: Finding["severity"];
  readonly consequence: string;
}

/**
 * Findings about a file that every user of this machine may edit or replace.
 *
 * The mode of the folder is only a warning: a correction of it does not change the stat of the file, so the file would not be read again.
 */
export async function findExposure(files: Files, path: string, exposure: Exposure): Promise<readonly Finding[]> {
  const { severity, consequence } = exposure;
  const folder = dirname(path);
  const [own, around] = await Promise.all([path, folder].map((each) => files.stat(each).catch(() => null)));
  if (!own || !around) return [];
  const isReplaceable = (around.mode & (WRITABLE_BY_OTHERS | STICKY)) === WRITABLE_BY_OTHERS;
  const found: Finding[] = [];
  const add = (how: Finding["severity"], what: string, fix: string) => {
    const message = `${what}: ${consequence}; ${fix}`;
    found.push({ id: "writable_by_others", severity: how, loc: "", message, line: 1, column: 1 });
  };
  if ((own.mode & WRITABLE_BY_OTHERS) !== 0) {
    add(severity, `${path} has mode ${octal(own.mode)}`, `chmod o-w ${shellWord(path)}`);
  }
  if (isReplaceable && own.userId !== 0 && own.userId !== around.userId) {
    add(severity, `${path} was put there by user ${own.userId}`, `look at it, then: chown root ${shellWord(path)}`);
  }
  if (isReplaceable) add("warning", `${folder} has mode ${octal(around.mode)}`, `chmod o-w ${shellWord(folder)}`);
  return found;
}
