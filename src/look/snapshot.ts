import type { ListedHardware } from "../hardware/hardware.ts";
import type { Files, FileStat } from "../platform/files/files.ts";
import { configurationDigest, type HashedFile } from "./digest.ts";
import {
  deviceFinding,
  type FileFinding,
  type PathFinding,
  restless,
  systemErrorFinding,
  unparseable,
  unsuitable,
} from "./findings.ts";
import type { Found, Looked, LookRequest, ReadFile } from "./look.ts";

/** A file of the manifest's list. */
export interface ConfigurationFile {
  readonly label: string;
  /** Absolute. */
  readonly path: string;
  /** Index in the manifest's list. */
  readonly entry: number;
  /** Of a device or interface. */
  readonly hardware?: ListedHardware | undefined;
  /** The pattern that stands for it and others. */
  readonly pattern?: string;
  /** The service may have its content. */
  readonly share?: true | undefined;
}

export interface FileFingerprint extends HashedFile {
  /** The stat of the file when it was hashed. */
  readonly stat: FileStat;
  /** Not valid in the format of its file name, or empty and once not: perhaps half-written. */
  readonly suspect: boolean;
  /** The pattern that stands for it and others. */
  readonly pattern?: string;
}

export interface Snapshot {
  /** `sha256:` and 64 lower-case hex digits. */
  readonly digest: string;
  /** In the order of the list. */
  readonly files: readonly FileFingerprint[];
  /** Bytes that were read; 0 when the stat of every file was known. */
  readonly readBytes: number;
}

export type Taken =
  | { readonly kind: "snapshot"; readonly snapshot: Snapshot; readonly warnings: readonly FileFinding[] }
  /** There is no digest; the last registration stands. */
  | { readonly kind: "refused"; readonly findings: readonly FileFinding[] };

/** How to look at configuration files. */
export function requestsFor(files: readonly ConfigurationFile[], limitBytes: number): readonly LookRequest[] {
  return files.map(({ path, hardware }) => ({ path, limitBytes, complete: hardware === undefined, hardware }));
}

/** The files of a look as one digest, or why there is none. */
export async function takeSnapshot(
  disk: Files,
  list: readonly ConfigurationFile[],
  { found, readBytes }: Looked,
  limitBytes: number,
): Promise<Taken> {
  const findings: FileFinding[] = [];
  const files: FileFingerprint[] = [];
  for (const listed of list) {
    const { path, entry, hardware } = listed;
    const file = found.get(path);
    if (file === undefined) throw new Error(`${path} was not looked at`);
    const finding =
      hardware === undefined ? await describe(disk, path, file, limitBytes) : await describeDevice(disk, path, file);
    if (finding !== null) findings.push({ ...finding, entry });
    if (file.kind === "read") files.push(fingerprint(listed, file));
  }
  if (files.length < list.length) {
    return { kind: "refused", findings: findings.filter(({ severity }) => severity === "error") };
  }
  const digest = configurationDigest(files.map(({ sha256 }) => sha256));
  return { kind: "snapshot", snapshot: { digest, files, readBytes }, warnings: findings };
}

function fingerprint(
  { label, path, pattern, share }: ConfigurationFile,
  { sha256, bytes, stat, isHalf, line }: ReadFile,
): FileFingerprint {
  if (sha256 === null) throw new Error(`${path} was not hashed`);
  const origin = { ...(line !== null && { line }), ...(pattern !== undefined && { pattern }) };
  return { label, path, sha256, bytes, stat, suspect: isHalf, ...origin, ...(share === true && { share }) };
}

async function describeDevice(disk: Files, path: string, found: Found): Promise<PathFinding | null> {
  if (found.kind === "failed") return deviceFinding(disk, path, found.code);
  return found.kind === "read" ? null : restless(path);
}

async function describe(disk: Files, path: string, found: Found, limitBytes: number): Promise<PathFinding | null> {
  switch (found.kind) {
    case "failed":
      return systemErrorFinding(disk, path, found.code);
    case "unsuitable":
      return unsuitable(path, found.stat, limitBytes) ?? null;
    case "restless":
      return restless(path);
    case "read":
      return found.isHalf ? unparseable(path, found.bytes === 0) : null;
  }
}
