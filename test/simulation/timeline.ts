import { hash } from "node:crypto";

import type { Disk, Inode } from "./machine/disk.ts";
import { ALL_FILES, FILES, FILE_LISTS } from "./machine/robot-files.ts";

/** A value and its period; `toMs` is Infinity for the current one. */
export interface Span<T> {
  readonly fromMs: number;
  toMs: number;
  readonly value: T;
  /** For a file: the time of the change according to its timestamps. The content may be older than its move to this path. */
  since_ms: number;
}

/** The complete history of the configuration files. */
export interface Timeline {
  /** Records the current state. */
  record(nowMs: number): void;
  /** Digests of one list of files; null if one was unreadable. Oldest first. */
  digests(list: number): readonly Span<string | null>[];
  /** SHA-256 of the contents of one file; null if unreadable. Oldest first. */
  contents(path: string): readonly Span<string | null>[];
  /** Times of all changes of the file, including those that a stat does not show. */
  changes(path: string): readonly number[];
  /** Whether the content is empty or truncated JSON, as left by an unfinished write. */
  isSuspicious(sha256: string): boolean;
}

export function createTimeline(disk: Disk): Timeline {
  const contents = new Map<string, Span<string | null>[]>(ALL_FILES.map((path) => [path, []]));
  const changes = new Map<string, number[]>(ALL_FILES.map((path) => [path, []]));
  const stats = new Map<string, string>();
  const digests: Span<string | null>[][] = FILE_LISTS.map(() => []);
  const suspicious = new Set<string>();
  const hashes = new WeakMap<Uint8Array, string>();

  function hashOf(path: string, { bytes }: Inode): string {
    const known = hashes.get(bytes);
    if (known !== undefined) return known;
    const sha256 = hash("sha256", bytes);
    hashes.set(bytes, sha256);
    if (bytes.byteLength === 0 || (path === FILES.calibration && !isJson(bytes))) suspicious.add(sha256);
    return sha256;
  }

  function inodeAt(path: string): Inode | null {
    const inode = disk.lookFor(path);
    return inode?.kind === "file" && (inode.mode & 0o004) !== 0 ? inode : null;
  }

  return {
    record(nowMs) {
      const now = new Map<string, string | null>();
      let changed = false;
      for (const path of ALL_FILES) {
        const inode = inodeAt(path);
        const sha256 = inode === null ? null : hashOf(path, inode);
        now.set(path, sha256);
        const stat = inode === null ? "" : `${inode.number} ${inode.changedMs}`;
        if (stats.get(path) !== stat) changes.get(path)?.push(nowMs);
        stats.set(path, stat);
        changed = extend(contents.get(path) ?? [], nowMs, sha256, inode?.changedMs ?? nowMs) || changed;
      }
      if (!changed) return;
      for (const [index, list] of FILE_LISTS.entries()) {
        extend(digests[index] ?? [], nowMs, digestOf(list.map((path) => now.get(path) ?? null)), nowMs);
      }
    },
    digests: (list) => digests[list] ?? [],
    contents: (path) => contents.get(path) ?? [],
    changes: (path) => changes.get(path) ?? [],
    isSuspicious: (sha256) => suspicious.has(sha256),
  };
}

/** The configuration digest by its definition, implemented independently of the agent. */
export function digestOf(sha256s: readonly (string | null)[]): string | null {
  if (sha256s.includes(null)) return null;
  return `sha256:${hash("sha256", sha256s.map((sha256) => `${sha256}\n`).join(""))}`;
}

/** @returns whether the value is new. */
function extend<T>(spans: Span<T>[], nowMs: number, value: T, sinceMs: number): boolean {
  const last = spans.at(-1);
  if (last !== undefined && last.value === value) return false;
  if (last !== undefined) last.toMs = nowMs;
  spans.push({ fromMs: nowMs, toMs: Number.POSITIVE_INFINITY, value, since_ms: sinceMs });
  return true;
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder().decode(bytes));
    return true;
  } catch {
    return false;
  }
}
