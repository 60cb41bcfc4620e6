import { type Files, type FileStat, sameStat } from "../platform/files/files.ts";
import { type PathFinding, systemErrorFinding, tooLarge, unsuitable } from "./findings.ts";
import type { HashRequest, HashResult } from "./hash-file.ts";
import { hashFiles } from "./hashing.ts";
import { isParsable, parses } from "./parses.ts";
import type { Observations } from "./observations.ts";
import type { Hashed, StatCache } from "./stat-cache.ts";

export interface CollectOptions {
  readonly signal?: AbortSignal | undefined;
  /** False to read the files now, without waiting for writers to finish. The cut is consistent either way. */
  readonly settle: boolean;
  /** Called after each chunk. */
  readonly onProgress?: (doneBytes: number, totalBytes: number) => void;
}

/** The hashes and counts of one collect. */
export interface Cut {
  readonly hashes: Map<string, Hashed>;
  readBytes: number;
  /** Total size of the files that this collect reads. */
  wantedBytes: number;
}

export function createCut(): Cut {
  return { hashes: new Map(), readBytes: 0, wantedBytes: 0 };
}

/** What is kept between collects. */
export interface Memory {
  readonly disk: Files;
  readonly observations: Observations;
  readonly cache: StatCache;
  readonly limitBytes: number;
}

/** The hash that matches the last seen stat of the file, from this collect or a trusted one from an earlier collect. */
export function hashOf({ observations, cache }: Memory, cut: Cut, path: string): Hashed | undefined {
  const view = observations.view(path);
  if (view?.kind !== "seen") return undefined;
  const fresh = cut.hashes.get(path);
  if (fresh !== undefined && (fresh.ofOneMoment || sameStat(fresh.stat, view.stat))) return fresh;
  return cache.trusted(path, view.stat);
}

/** The last seen stat of a file that can be hashed. */
export function suitableStat({ observations, limitBytes }: Memory, path: string): FileStat | undefined {
  const view = observations.view(path);
  if (view?.kind !== "seen" || unsuitable(path, view.stat, limitBytes) !== undefined) return undefined;
  return view.stat;
}

/**
 * Reads every suitable file whose hash is not known. A file that changes meanwhile stays without a hash.
 *
 * @param isRestless true for a file that changes all the time, to hash it as it is at one moment.
 */
export async function readMissing(
  memory: Memory,
  cut: Cut,
  paths: readonly string[],
  { signal, onProgress }: CollectOptions,
  isRestless: (path: string) => boolean = () => false,
): Promise<{ readonly hasRead: boolean; readonly pathFindings: readonly PathFinding[] }> {
  const requests = paths
    .map((path) => requestFor(memory, cut, path, isRestless(path)))
    .filter((request) => request !== undefined);
  if (requests.length === 0) return { hasRead: false, pathFindings: [] };
  const pathFindings: PathFinding[] = [];
  cut.wantedBytes += requests.reduce((total, { expected }) => total + expected.sizeBytes, 0);

  await hashFiles(memory.disk, requests, {
    signal,
    onBytes(count) {
      cut.readBytes += count;
      onProgress?.(Math.min(cut.readBytes, cut.wantedBytes), cut.wantedBytes);
    },
    async onResult(request, result) {
      switch (result.kind) {
        case "hashed": {
          const hashed = judge(memory.observations, request, result);
          cut.hashes.set(request.path, hashed);
          memory.cache.store(request.path, hashed);
          return;
        }
        case "too-large":
          pathFindings.push(tooLarge(request.path, `more than ${request.limitBytes} bytes`, request.limitBytes));
          return;
        case "failed":
          pathFindings.push(await systemErrorFinding(memory.disk, request.path, result.code));
          return;
        case "moved":
      }
    },
  });
  return { hasRead: true, pathFindings };
}

function requestFor(memory: Memory, cut: Cut, path: string, ofOneMoment: boolean): HashRequest | undefined {
  const expected = suitableStat(memory, path);
  if (expected === undefined || hashOf(memory, cut, path) !== undefined) return undefined;
  const keep = isParsable(path, expected.sizeBytes);
  return { path, expected, keep, limitBytes: memory.limitBytes, ofOneMoment };
}

function judge(
  observations: Observations,
  { path, expected, ofOneMoment }: HashRequest,
  { sha256, bytes, content }: Extract<HashResult, { kind: "hashed" }>,
): Hashed {
  // `isTrustworthy` refers to the look before the read. Where the size is not real, as under /proc, the timestamps are not either.
  const trusted = !ofOneMoment && bytes === expected.sizeBytes && observations.isTrustworthy(path);
  // A program may have a reason for an empty file. JSON and XML have none.
  const text = bytes === 0 ? new Uint8Array() : content;
  const suspect = text !== undefined && !parses(path, text);
  return { sha256, bytes, stat: expected, trusted, suspect, inherited: false, ofOneMoment };
}
