import { createObservations, sameView, type View, viewNow } from "../../fingerprint/observations.ts";
import type { Clock } from "../../platform/clock.ts";
import { sha256Hex } from "../../platform/crypto.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";

interface Known {
  readonly view: View;
  readonly hasRested: boolean;
  readonly word: string;
}

/** Content is read up to this size, enough for a key. Larger files, such as certificates, are compared by their stat alone. */
const READ_LIMIT_BYTES = 4096;

/** How often a file that is replaced while it is read is looked at again. */
const REPLACED_LOOKS = 3;

/** Detects that a small file, such as a key, was replaced, edited, created or removed. */
export function createFileVersions(options: { readonly files: Files; readonly clock: Clock }) {
  const { files } = options;
  const observations = createObservations(options);
  const known = new Map<string, Known>();

  async function wordFor(path: string, looksLeft: number): Promise<string> {
    const view = observations.view(path) ?? { kind: "hidden", code: "UNKNOWN" };
    const before = known.get(path);
    const isSame = before !== undefined && sameView(before.view, view);
    if (isSame && before.hasRested) return before.word;
    const hasRested = observations.isTrustworthy(path);
    let word = describe(view);
    if (!hasRested || isSame) {
      word += await contentWord(files, path, view);
      // The stat of one file with the content of its successor would make the successor look new once more, and its key be sent twice.
      await observations.look([path], undefined);
      if (looksLeft > 0 && !sameView(observations.view(path) ?? view, view)) return wordFor(path, looksLeft - 1);
    }
    known.set(path, { view, hasRested, word });
    return word;
  }

  return {
    /**
     * A text that identifies the current files. A file that has settled is identified by its stat. One that changed just now may change
     * again without a new stat, so it is read: now, and once more after it has settled.
     */
    async look(paths: readonly string[]): Promise<string> {
      observations.retain(new Set(paths));
      for (const path of known.keys()) if (!paths.includes(path)) known.delete(path);
      await observations.look(paths, undefined);
      return (await Promise.all(paths.map((path) => wordFor(path, REPLACED_LOOKS)))).join(" ");
    },
    /** True when the files are as at the last look, and had settled then. Synchronous stats only, so for local filesystems only. */
    isUnchanged: (paths: readonly string[]) =>
      paths.every((path) => {
        const before = known.get(path);
        return before?.hasRested === true && sameView(viewNow(files, path), before.view);
      }),
  };
}

function describe(view: View): string {
  if (view.kind === "hidden") return view.code;
  const { device, inode, sizeBytes, mtimeNs, ctimeNs } = view.stat;
  return `${device}:${inode}:${sizeBytes}:${mtimeNs}:${ctimeNs}`;
}

/** A hash of the content. It does not reveal the key, which has more than 128 random bits. */
async function contentWord(files: Files, path: string, view: View): Promise<string> {
  // Reading a pipe could block, or consume its content.
  if (view.kind === "hidden" || view.stat.kind !== "file") return "";
  try {
    const bytes = await readBounded(files, path, READ_LIMIT_BYTES);
    return bytes === "too-large" ? ":too-large" : `:${sha256Hex(bytes)}`;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return `:${code}`;
  }
}
