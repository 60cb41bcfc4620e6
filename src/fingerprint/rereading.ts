import type { Clock } from "../platform/clock.ts";
import type { Files, ReadableFile } from "../platform/files/files.ts";
import { hashFiles } from "./hashing.ts";
import type { Hashed } from "./stat-cache.ts";

/** 8 MiB/s: low load for the robot, and a gigabyte takes two minutes. */
const PACE_BYTES_PER_MS = (8 * 1024 * 1024) / 1000;

/** The files to read again: those whose hash comes from an earlier process, the smallest ones up to `SMALL_BYTES` in all, or every file. */
export type RereadScope = "inherited" | "small" | "all";

const SMALL_BYTES = 16 * 1024 * 1024;

export function filesInScope(scope: RereadScope, files: ReadonlyMap<string, Hashed>) {
  switch (scope) {
    case "inherited":
      return [...files].filter(([, { inherited }]) => inherited);
    case "small": {
      const bySize = [...files].toSorted(([, one], [, other]) => one.bytes - other.bytes);
      let totalBytes = 0;
      return bySize.filter(([, { bytes }]) => (totalBytes += bytes) <= SMALL_BYTES);
    }
    case "all":
      return [...files];
  }
}

export interface Reread {
  readonly mismatched: readonly string[];
  readonly moved: readonly string[];
}

/**
 * Reads files again although their stat did not change, slowly and one after the other.
 *
 * Content can change without the stat: a read-only image (squashfs, erofs) is swapped for one with equal lengths and timestamps, a write
 * through a memory mapping updates the timestamps late (mmap(2)), a disk fails.
 *
 * @returns `mismatched`: the paths that could not be read or have another hash than in `known`. `moved`: those whose stat changed.
 * @throws `signal.reason` when the signal aborts.
 */
export async function findMismatched(
  { files, clock }: { readonly files: Files; readonly clock: Clock },
  known: readonly (readonly [path: string, hashed: Hashed])[],
  signal: AbortSignal,
): Promise<Reread> {
  const paced = paceReads(files, clock, signal);
  const mismatched: string[] = [];
  const moved: string[] = [];
  for (const [path, { stat, sha256 }] of known) {
    const request = { path, expected: stat, keep: false, limitBytes: stat.sizeBytes, ofOneMoment: false };
    await hashFiles(paced, [request], {
      signal,
      onBytes() {},
      async onResult(_request, result) {
        if (result.kind === "moved") moved.push(path);
        else if (result.kind !== "hashed" || result.sha256 !== sha256) mismatched.push(path);
      },
    });
  }
  return { mismatched, moved };
}

function paceReads(files: Files, clock: Clock, signal: AbortSignal): Files {
  const paceFile = (file: ReadableFile): ReadableFile => ({
    stat: () => file.stat(),
    async read(buffer, position) {
      const count = await file.read(buffer, position);
      await clock.sleep(count / PACE_BYTES_PER_MS, signal);
      return count;
    },
    close: () => file.close(),
  });
  return { ...files, openForReading: async (path) => paceFile(await files.openForReading(path)) };
}
