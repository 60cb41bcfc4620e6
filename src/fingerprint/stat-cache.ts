import { type FileStat, sameStat } from "../platform/files/files.ts";
import type { FileFingerprint } from "./snapshot.ts";

/** The hash of a file, and how far it can be relied on. */
export interface Hashed extends Omit<FileFingerprint, "label" | "path"> {
  /** Read by an earlier process: enough to see that nothing changed, not enough to register a new digest. */
  readonly inherited: boolean;
  /** The file changes all the time; this is its content at one moment. */
  readonly ofOneMoment: boolean;
}

/** The hashes of files by path, each valid while the file keeps its stat. */
export type StatCache = ReturnType<typeof createStatCache>;

export function createStatCache() {
  const entries = new Map<string, Hashed>();
  return {
    /** Adopts the hashes of an earlier process. */
    remember(files: readonly FileFingerprint[]) {
      for (const { path, sha256, bytes, stat, trusted, suspect } of files) {
        entries.set(path, { sha256, bytes, stat, trusted, suspect, inherited: true, ofOneMoment: false });
      }
    },
    /** The trusted entries. */
    entries: () => new Map([...entries].filter(([, { trusted }]) => trusted)),
    /** The trusted hash of a file with this stat. */
    trusted(path: string, stat: FileStat): Hashed | undefined {
      const entry = entries.get(path);
      return entry?.trusted === true && sameStat(entry.stat, stat) ? entry : undefined;
    },
    store(path: string, hashed: Hashed) {
      entries.set(path, hashed);
    },
    /** Drops the hashes of an earlier process that were not confirmed. */
    dropInherited() {
      for (const [path, { inherited }] of entries) if (inherited) entries.delete(path);
    },
    /** Marks the entry as read by this process, unless it was replaced meanwhile. */
    confirm(path: string, hashed: Hashed) {
      if (entries.get(path) === hashed) entries.set(path, { ...hashed, inherited: false });
    },
    forget(path: string) {
      entries.delete(path);
    },
    clear() {
      entries.clear();
    },
    retain(paths: ReadonlySet<string>) {
      for (const path of entries.keys()) if (!paths.has(path)) entries.delete(path);
    },
  };
}
