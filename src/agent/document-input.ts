import type { Finding } from "../manifest/finding.ts";
import type { Clock } from "../platform/clock.ts";
import { readBounded } from "../platform/durable-file.ts";
import type { Files, FileStat } from "../platform/files.ts";
import { errorCode } from "../platform/files.ts";

/** What a reader made of a document's bytes. */
export interface Reading<T> {
  readonly findings: readonly Finding[];
  /** null when a finding is an error. */
  readonly value: T | null;
  /** Where in the document a JSON Pointer is written. */
  locate(loc: string): { readonly line: number; readonly column: number };
}

/** A file that a person edits and the agent keeps an eye on. */
export interface DocumentInput<T> {
  readonly path: string;
  /** The latest reading; of a file that cannot be read, a reading with that as its finding. */
  readonly reading: Reading<T>;
  /**
   * Reads the file again if it moved.
   *
   * @param settle whether an edit in progress is waited for.
   * @returns how many milliseconds to wait until the file can be trusted to hold still; 0 when `reading` is the truth.
   */
  refresh(settle: boolean): Promise<number>;
  /** One synchronous stat: true when the file is as it was read. Local filesystems only. */
  holds(): boolean;
  /** The next `refresh` reads the file, moved or not. */
  distrust(): void;
}

export interface DocumentOptions<T> {
  readonly files: Files;
  readonly clock: Clock;
  readonly path: string;
  /** What to do when the file is not there. */
  readonly missing_fix: string;
  read(bytes: Uint8Array): Reading<T> | Promise<Reading<T>>;
  settle_ms(): number;
}

/** Readers refuse more than 1 MiB themselves, with a proper finding; this only bounds what is read to get there. */
const READ_LIMIT_BYTES = 1024 * 1024 + 4096;

export function createDocumentInput<T>(options: DocumentOptions<T>): DocumentInput<T> {
  const { files, clock, path } = options;
  // Nothing is wrong with a file that was not looked at yet.
  let reading: Reading<T> = { findings: [], value: null, locate: () => ({ line: 1, column: 1 }) };
  let read_version: string | null = null;
  let seen: { readonly version: string; readonly since_ms: number } | null = null;

  async function look(): Promise<{ version: string; stat: FileStat | null; code: string }> {
    try {
      const stat = await files.stat(path);
      return { version: versionOf(stat), stat, code: "" };
    } catch (error) {
      const code = errorCode(error) ?? "UNKNOWN";
      return { version: code, stat: null, code };
    }
  }

  async function readNow(stat: FileStat | null, code: string): Promise<Reading<T> | "failed"> {
    if (stat === null) return describeFailure(path, code, options.missing_fix);
    if (stat.kind !== "file") return unreadable("file_not_regular", `${path} is not a regular file`);
    try {
      const bytes = await readBounded(files, path, READ_LIMIT_BYTES);
      if (bytes === "too-large")
        return unreadable("too_large", `${path} is ${stat.size_bytes} bytes; the limit is 1048576`);
      return await options.read(bytes);
    } catch (error) {
      reading = describeFailure(path, errorCode(error) ?? "UNKNOWN", options.missing_fix);
      return "failed";
    }
  }

  return {
    path,
    get reading() {
      return reading;
    },
    async refresh(settle) {
      const { version, stat, code } = await look();
      if (version === read_version) return 0;
      const now_ms = clock.monotonic_ms();
      if (seen?.version !== version) seen = { version, since_ms: now_ms };
      if (settle) {
        const wait_ms = stillIn(stat, now_ms - seen.since_ms, clock.wall_ms(), options.settle_ms());
        if (wait_ms > 0) return wait_ms;
      }
      const next = await readNow(stat, code);
      // Written while it was read: what was read may be half of it.
      const after = await look();
      if (after.version !== version) {
        // Who does not wait is told why there is nothing.
        if (!settle) reading = unreadable("file_unstable", `${path} is being written; try again`);
        return Math.max(1, options.settle_ms());
      }
      if (next === "failed") {
        // Perhaps in passing (EIO, EMFILE): the same file is worth another look.
        read_version = null;
        return 0;
      }
      reading = next;
      read_version = version;
      return 0;
    },
    holds() {
      try {
        return versionOf(files.statNow(path)) === read_version;
      } catch (error) {
        return (errorCode(error) ?? "UNKNOWN") === read_version;
      }
    },
    distrust() {
      read_version = null;
    },
  };
}

/** Milliseconds until a file has held still long enough: by its own stamps, or as long as this process has watched it. */
function stillIn(stat: FileStat | null, watched_ms: number, wall_ms: number, settle_ms: number): number {
  const watched_left_ms = settle_ms - watched_ms;
  if (stat === null) return Math.max(0, watched_left_ms);
  // A whole second may be any moment of it, on filesystems that keep no fractions.
  const changed_ns = stat.mtime_ns > stat.ctime_ns ? stat.mtime_ns : stat.ctime_ns;
  const coarseness_ms = stat.ctime_ns % 1_000_000_000n === 0n ? 1000 : 0;
  const changed_ms = Number(changed_ns / 1000n) / 1000 + coarseness_ms;
  const age_ms = wall_ms - changed_ms;
  if (age_ms >= settle_ms) return 0;
  // A stamp from the future says nothing; the clock was set.
  const stamped_left_ms = age_ms >= 0 ? settle_ms - age_ms : settle_ms;
  return Math.max(0, Math.min(watched_left_ms, stamped_left_ms));
}

function versionOf(stat: FileStat): string {
  return `${stat.kind} ${stat.device}:${stat.inode} ${stat.size_bytes} ${stat.mtime_ns} ${stat.ctime_ns}`;
}

function describeFailure(path: string, code: string, missing_fix: string): Reading<never> {
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return unreadable("file_missing", `${path} does not exist; ${missing_fix}`);
    case "EACCES":
    case "EPERM":
      return unreadable("file_unreadable", `${path} may not be read by this user; give it read permission`);
    default:
      return unreadable("file_unreadable", `${path} cannot be read (${code})`);
  }
}

function unreadable(id: string, message: string): Reading<never> {
  return {
    findings: [{ id, severity: "error", loc: "", message, line: 1, column: 1 }],
    value: null,
    locate: () => ({ line: 1, column: 1 }),
  };
}
