import type { Files } from "../platform/files/files.ts";
import type { Trouble } from "./findings.ts";
import { systemTrouble, tooLarge, unsuitable } from "./findings.ts";
import type { HashRequest, HashResult } from "./hashing.ts";
import { hashFiles } from "./hashing.ts";
import { isParsable, parses } from "./parses.ts";
import type { Sightings } from "./sightings.ts";
import { sameStat } from "./sightings.ts";
import type { Hashed, StatCache } from "./stat-cache.ts";

export interface CollectOptions {
  readonly signal?: AbortSignal | undefined;
  /** False for a look at what is there now: still a consistent cut, but writers get no time to finish. */
  readonly settle: boolean;
  /** Called for every chunk that was read. */
  readonly onProgress?: (doneBytes: number, totalBytes: number) => void;
}

/** What one collect has read so far. */
export interface Cut {
  readonly hashes: Map<string, Hashed>;
  readBytes: number;
  /** What the files that it set out to read held together. */
  wantedBytes: number;
}

export function createCut(): Cut {
  return { hashes: new Map(), readBytes: 0, wantedBytes: 0 };
}

/** Where hashes and looks are kept between collects. */
interface Memory {
  readonly disk: Files;
  readonly sightings: Sightings;
  readonly cache: StatCache;
  readonly limitBytes: number;
}

/** The hash of the file as the last look showed it, from this collect or trusted from an earlier one. */
export function hashOf({ sightings, cache }: Memory, cut: Cut, path: string): Hashed | undefined {
  const view = sightings.view(path);
  if (view?.kind !== "seen") return undefined;
  const fresh = cut.hashes.get(path);
  if (fresh !== undefined && (fresh.ofOneMoment || sameStat(fresh.stat, view.stat))) return fresh;
  return cache.trusted(path, view.stat);
}

/**
 * Reads every suitable file whose hash is not known.
 *
 * A file that moves meanwhile simply stays without a hash; the next look shows it as it then is.
 *
 * @param isRestless whether a file is to be taken as it is at one moment, because it never holds still.
 */
export async function readMissing(
  memory: Memory,
  cut: Cut,
  paths: readonly string[],
  { signal, onProgress }: CollectOptions,
  isRestless: (path: string) => boolean = () => false,
): Promise<{ readonly hasRead: boolean; readonly troubles: readonly Trouble[] }> {
  const requests = paths
    .map((path) => requestFor(memory, cut, path, isRestless(path)))
    .filter((request) => request !== undefined);
  if (requests.length === 0) return { hasRead: false, troubles: [] };
  const troubles: Trouble[] = [];
  cut.wantedBytes += requests.reduce((total, { expected }) => total + expected.size_bytes, 0);

  await hashFiles(memory.disk, requests, {
    signal,
    onBytes(count) {
      cut.readBytes += count;
      onProgress?.(Math.min(cut.readBytes, cut.wantedBytes), cut.wantedBytes);
    },
    async onResult(request, result) {
      switch (result.kind) {
        case "hashed": {
          const hashed = judge(memory.sightings, request, result);
          cut.hashes.set(request.path, hashed);
          memory.cache.store(request.path, hashed);
          return;
        }
        case "too-large":
          troubles.push(tooLarge(request.path, `more than ${request.limitBytes} bytes`, request.limitBytes));
          return;
        case "failed":
          troubles.push(await systemTrouble(memory.disk, request.path, result.code));
          return;
        case "moved":
      }
    },
  });
  return { hasRead: true, troubles };
}

function requestFor(memory: Memory, cut: Cut, path: string, ofOneMoment: boolean): HashRequest | undefined {
  const view = memory.sightings.view(path);
  if (view?.kind !== "seen" || unsuitable(path, view.stat, memory.limitBytes) !== undefined) return undefined;
  if (hashOf(memory, cut, path) !== undefined) return undefined;
  return {
    path,
    expected: view.stat,
    keep: isParsable(path, view.stat.size_bytes),
    limitBytes: memory.limitBytes,
    ofOneMoment,
  };
}

function judge(
  sightings: Sightings,
  { path, expected, ofOneMoment }: HashRequest,
  { sha256, bytes, content }: Extract<HashResult, { kind: "hashed" }>,
): Hashed {
  // The look came before the reading began, so what it proves held then. Where the size is made up, as under /proc, the times are too.
  const trusted = !ofOneMoment && bytes === expected.size_bytes && sightings.isTrustworthy(path);
  const suspect = bytes === 0 || (content !== undefined && !parses(path, content));
  return { sha256, bytes, stat: expected, trusted, suspect, inherited: false, ofOneMoment };
}
