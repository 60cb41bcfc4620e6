import { fstatSync, writeSync } from "node:fs";

/** The output of a log. */
export interface LogOutput {
  write(line: string, level: string): void;
}

/** The priorities of syslog(3) by level, which journald takes from the start of a line (sd-daemon(3)). */
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ["error", 3],
  ["warn", 4],
  ["notice", 5],
  ["info", 6],
  ["debug", 7],
]);

/** The part of `process.stderr` that is needed here. */
export interface LogStream {
  write(text: string): boolean;
  once(event: "drain", listener: () => void): unknown;
  /** Characters that are not written yet. */
  readonly writableLength: number;
  readonly isTTY?: boolean;
}

/** The parts of a program's process that are needed here. */
export interface LoggingProcess {
  readonly stderr: LogStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The log goes to stderr, because stdout is for results of commands. */
const DESCRIPTOR = 2;
/** Bounds the characters waiting for a stalled reader; further lines are dropped. */
const WAITING_LIMIT = 256 * 1024;

/**
 * Writes lines to stderr and never waits for the reader (journald, a pager, the log driver of a container), which may hang. For journald each
 * begins with its priority.
 *
 * @param onDropped called with the number of lines that were dropped, once the reader has caught up.
 */
export function openLogOutput({ stderr, environment }: LoggingProcess, onDropped: (lines: number) => void): LogOutput {
  if (!isStream(stderr)) return { write: writeToFile };
  const prefix = isJournal(environment) ? (level: string) => `<${PRIORITIES.get(level) ?? 6}>` : () => "";
  let dropped = 0;
  return {
    write(text, level) {
      const line = prefix(level) + text;
      if (stderr.writableLength + line.length <= WAITING_LIMIT) {
        stderr.write(line);
        return;
      }
      if (dropped === 0) {
        stderr.once("drain", () => {
          const lines = dropped;
          dropped = 0;
          onDropped(lines);
        });
      }
      dropped += 1;
    },
  };
}

/** systemd.exec(5): JOURNAL_STREAM is `device:inode` of what it connected. The program may have been started with another stderr since. */
function isJournal({ JOURNAL_STREAM }: LoggingProcess["environment"]): boolean {
  const { dev, ino } = fstatSync(DESCRIPTOR);
  return JOURNAL_STREAM === `${dev}:${ino}`;
}

/** Node writes to pipes, sockets and terminals asynchronously, to files synchronously. */
function isStream({ isTTY }: LogStream): boolean {
  const stats = fstatSync(DESCRIPTOR);
  return stats.isFIFO() || stats.isSocket() || isTTY === true;
}

/** Does not use Node's stream, which a write error of a full disk destroys. */
function writeToFile(line: string): void {
  try {
    writeSync(DESCRIPTOR, line);
  } catch {
    // On a full disk lines are lost, but the program continues.
  }
}
