import type { FileStat } from "../platform/files/files.ts";
import { sameStat } from "./sightings.ts";
import type { FileFingerprint } from "./snapshot.ts";

/** What is known of a file that was read. */
export interface Hashed {
  readonly sha256: string;
  readonly bytes: number;
  /** The state of the file that the hash belongs to. */
  readonly stat: FileStat;
  /** A file that still has this stat still has these bytes. */
  readonly trusted: boolean;
  /** Empty, or not the JSON or YAML that its name promises: perhaps a writer is half-way through. */
  readonly suspect: boolean;
  /** Read by an earlier process and not by this one: enough to see that nothing changed, not to register anything by. */
  readonly inherited: boolean;
  /** The file never held still; this is what it held at one moment while it was read. */
  readonly ofOneMoment: boolean;
}

/** The hashes of files by path, each valid as long as the file keeps its stat. */
export interface StatCache {
  /** Takes over what another process hashed. */
  remember(files: readonly FileFingerprint[]): void;
  /** What stands for files that are not read again. */
  entries(): ReadonlyMap<string, Hashed>;
  /** The hash that stands for a file with this stat without reading it. */
  trusted(path: string, stat: FileStat): Hashed | undefined;
  store(path: string, hashed: Hashed): void;
  /** Drops what was taken over and not read since. */
  disinherit(): void;
  /** This process has read it now, unless the entry is another one by now. */
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
    disinherit() {
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
