import type { FileStat } from "../platform/files/files.ts";

/** A file of the manifest's list. */
export interface ConfigurationFile {
  readonly label: string;
  /** Absolute. */
  readonly path: string;
}

export interface FileFingerprint {
  readonly label: string;
  readonly path: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  readonly bytes: number;
  /** Of the state that was hashed. */
  readonly stat: FileStat;
  /** A file that still has this stat still has these bytes. */
  readonly trusted: boolean;
  /** Empty, or not the JSON or YAML that its name promises. */
  readonly suspect: boolean;
}

export interface Snapshot {
  /** `sha256:` and 64 lower-case hex digits. */
  readonly digest: string;
  /** In the order of the list. */
  readonly files: readonly FileFingerprint[];
  /** What had to be read for it; 0 when every file was known by its stat. */
  readonly read_bytes: number;
}
