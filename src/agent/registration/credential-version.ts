import { createHash } from "node:crypto";

import type { View } from "../../fingerprint/sightings.ts";
import { createSightings, sameView, viewNow } from "../../fingerprint/sightings.ts";
import type { Clock } from "../../platform/clock.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import type { Files } from "../../platform/files/files.ts";
import { errorCode } from "../../platform/files/files.ts";

/** Tells whether a file that may hold the key was replaced or edited, appeared or went. */
export interface CredentialVersions {
  /**
   * One word for the files as they are now. A file that has rested is known by its stat, and not read. What changed just now may
   * change again without a sign of it: it is read, now and once more when it has rested.
   */
  look(paths: readonly string[]): Promise<string>;
  /** A few synchronous stats: true when the files are as at the last look, and had rested then. Local filesystems only. */
  holds(paths: readonly string[]): boolean;
}

interface Known {
  readonly view: View;
  readonly hasRested: boolean;
  readonly word: string;
}

/** More is no key. */
const READ_LIMIT_BYTES = 4096;

export function createCredentialVersions(options: {
  readonly files: Files;
  readonly clock: Clock;
}): CredentialVersions {
  const { files } = options;
  const sightings = createSightings(options);
  const known = new Map<string, Known>();

  async function wordFor(path: string): Promise<string> {
    const view = sightings.view(path) ?? { kind: "hidden", code: "UNKNOWN" };
    const before = known.get(path);
    const isSame = before !== undefined && sameView(before.view, view);
    if (isSame && before.hasRested) return before.word;
    const hasRested = sightings.isTrustworthy(path);
    const word = describe(view) + (hasRested && !isSame ? "" : await contentWord(files, path, view));
    known.set(path, { view, hasRested, word });
    return word;
  }

  return {
    async look(paths) {
      sightings.retain(new Set(paths));
      for (const path of known.keys()) if (!paths.includes(path)) known.delete(path);
      await sightings.look(paths, undefined);
      return (await Promise.all(paths.map(wordFor))).join(" ");
    },
    holds: (paths) =>
      paths.every((path) => {
        const before = known.get(path);
        return before?.hasRested === true && sameView(viewNow(files, path), before.view);
      }),
  };
}

function describe(view: View): string {
  if (view.kind === "hidden") return view.code;
  const { device, inode, size_bytes: sizeBytes, mtime_ns: mtimeNs, ctime_ns: ctimeNs } = view.stat;
  return `${device}:${inode}:${sizeBytes}:${mtimeNs}:${ctimeNs}`;
}

/** Nothing by which the key could be guessed: it has more than 128 random bits. */
async function contentWord(files: Files, path: string, view: View): Promise<string> {
  // Reading anything else, such as a pipe, might wait or take something away.
  if (view.kind === "hidden" || view.stat.kind !== "file") return "";
  try {
    const bytes = await readBounded(files, path, READ_LIMIT_BYTES);
    return bytes === "too-large" ? ":too-large" : `:${createHash("sha256").update(bytes).digest("hex")}`;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return `:${code}`;
  }
}
