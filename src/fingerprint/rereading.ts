import type { Clock } from "../platform/clock.ts";
import type { Files, ReadableFile } from "../platform/files/files.ts";
import { hashFiles } from "./hashing.ts";
import type { Hashed } from "./stat-cache.ts";

/** 8 MiB a second: the robot does not notice, and a gigabyte takes two minutes. */
const PACE_BYTES_PER_MS = (8 * 1024 * 1024) / 1000;

export interface Reread {
  readonly misjudged: readonly string[];
  readonly moved: readonly string[];
}

/**
 * Reads files again whose stat says that nothing changed, one after the other and slowly.
 *
 * A stat can be wrong: a read-only image (squashfs, erofs) swapped for one with equal lengths and timestamps, a store through a memory
 * mapping, which moves the timestamps only now and then (mmap(2)), a disk that rots.
 *
 * @returns the paths of the files that could not be read or hold something else than `known` says, and of those whose stat moved: whoever
 * looks at the files sees that.
 * @throws `signal.reason` when the signal aborts.
 */
export async function findMisjudged(
  { files, clock }: { readonly files: Files; readonly clock: Clock },
  known: readonly (readonly [path: string, hashed: Hashed])[],
  signal: AbortSignal,
): Promise<Reread> {
  const paced = paceReads(files, clock, signal);
  const misjudged: string[] = [];
  const moved: string[] = [];
  for (const [path, { stat, sha256 }] of known) {
    const request = { path, expected: stat, keep: false, limitBytes: stat.size_bytes, ofOneMoment: false };
    await hashFiles(paced, [request], {
      signal,
      onBytes() {},
      async onResult(_request, result) {
        if (result.kind === "moved") moved.push(path);
        else if (result.kind !== "hashed" || result.sha256 !== sha256) misjudged.push(path);
      },
    });
  }
  return { misjudged, moved };
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
