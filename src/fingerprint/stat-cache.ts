import type { FileStat } from "../platform/files/files.ts";
import { sameStat } from "../platform/files/files.ts";
import type { FileFingerprint } from "./snapshot.ts";

/** The hash of a file, and how far it can be relied on. */
export interface Hashed extends Omit<FileFingerprint, "label" | "path"> {
  /** Read by an earlier process: enough to see that nothing changed, not enough to register a new digest. */
  readonly inherited: boolean;
  /** The file changes all the time; this is its content at one moment. */
  readonly ofOneMoment: boolean;
}

/** The hashes of files by path, each valid while the file keeps its stat. */
export interface StatCache {
  /** Adopts the hashes of an earlier process. */
  remember(files: readonly FileFingerprint[]): void;
  /** The trusted entries. */
  entries(): ReadonlyMap<string, Hashed>;
  /** The trusted hash of a file with this stat. */
  trusted(path: string, stat: FileStat): Hashed | undefined;
  store(path: string, hashed: Hashed): void;
  /** Drops the hashes of an earlier process that were not confirmed. */
  dropInherited(): void;
  /** Marks the entry as read by this process, unless it was replaced meanwhile. */
  confirm(path: string, hashed: Hashed): void;
  forget(path: string): void;
  clear(): void;
  retain(paths: ReadonlySet<string>): void;
}

export function createStatCache(): StatCache {
  const entries = new Map<string, Hashed>();
  return {
    remember(files) {
      for (const { path, sha256, bytes, stat, trusted, suspect } of files) {
        entries.set(path, { sha256, bytes, stat, trusted, suspect, inherited: true, ofOneMoment: false });
      }
    },
    entries: () => new Map([...entries].filter(([, { trusted }]) => trusted)),
    trusted(path, stat) {
      const entry = entries.get(path);
      return entry?.trusted === true && sameStat(entry.stat, stat) ? entry : undefined;
    },
    store(path, hashed) {
      entries.set(path, hashed);
    },
    dropInherited() {
      for (const [path, { inherited }] of entries) if (inherited) entries.delete(path);
    },
    confirm(path, hashed) {
      if (entries.get(path) === hashed) entries.set(path, { ...hashed, inherited: false });
    },
    forget(path) {
      entries.delete(path);
    },
    clear() {
      entries.clear();
    },
    retain(paths) {
      for (const path of entries.keys()) if (!paths.has(path)) entries.delete(path);
    },
  };
}
