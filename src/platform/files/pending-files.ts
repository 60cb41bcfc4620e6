import type { Clock } from "../clock.ts";
import type { Files, ReadableFile, WritableFile } from "./files.ts";

/** File operations that have not completed. */
export type PendingFiles = ReturnType<typeof trackFiles>;

/**
 * Tracks pending file operations. Operations on a network drive whose server is gone hang without an error; the pending path is then the
 * only thing to report.
 */
export function trackFiles(files: Files, clock: Clock) {
  const pending = new Set<{ readonly path: string; readonly sinceMs: number }>();

  async function track<Result>(path: string, work: Promise<Result>): Promise<Result> {
    // No disk: who reads there sets a limit of its own (src/hardware/memory.ts).
    if (path.startsWith("/sys/")) return work;
    const entry = { path, sinceMs: clock.monotonicMs() };
    pending.add(entry);
    try {
      return await work;
    } finally {
      pending.delete(entry);
    }
  }

  function trackReadable(path: string, file: ReadableFile): ReadableFile {
    return {
      stat: () => track(path, file.stat()),
      read: (buffer, position) => track(path, file.read(buffer, position)),
      close: () => track(path, file.close()),
    };
  }

  function trackWritable(path: string, file: WritableFile): WritableFile {
    return {
      write: (bytes) => track(path, file.write(bytes)),
      sync: () => track(path, file.sync()),
      close: () => track(path, file.close()),
    };
  }

  const tracked: Files = {
    stat: (path) => track(path, files.stat(path)),
    linkStat: (path) => track(path, files.linkStat(path)),
    readLink: (path) => track(path, files.readLink(path)),
    openForReading: async (path) => trackReadable(path, await track(path, files.openForReading(path))),
    createExclusive: async (path, mode, owner) =>
      trackWritable(path, await track(path, files.createExclusive(path, mode, owner))),
    rename: (from, to) => track(to, files.rename(from, to)),
    remove: (path) => track(path, files.remove(path)),
    syncDirectory: (directory) => track(directory, files.syncDirectory(directory)),
    makeDirectory: (directory, mode) => track(directory, files.makeDirectory(directory, mode)),
    list: (directory) => track(directory, files.list(directory)),
    mountsNow: () => files.mountsNow(),
  };

  return {
    files: tracked,
    /** The path of the oldest pending operation when it is older than `limitMs`; null otherwise. */
    hanging(limitMs: number): string | null {
      // A set iterates in insertion order.
      const [oldest] = pending;
      return oldest !== undefined && clock.monotonicMs() - oldest.sinceMs >= limitMs ? oldest.path : null;
    },
  };
}
