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
  /** The stat of the file when it was hashed. */
  readonly stat: FileStat;
  /** True when a file with this stat is known to have these bytes, so that it need not be read again. */
  readonly trusted: boolean;
  /** Not valid in the format of its file name, or empty and once not: perhaps half-written. */
  readonly suspect: boolean;
}

export interface Snapshot {
  /** `sha256:` and 64 lower-case hex digits. */
  readonly digest: string;
  /** In the order of the list. */
  readonly files: readonly FileFingerprint[];
  /** Bytes that were read; 0 when the stat of every file was known. */
  readonly readBytes: number;
}
