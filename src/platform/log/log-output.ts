import { fstatSync, writeSync } from "node:fs";

/** Where a log's lines go. */
export interface LogOutput {
  write(line: string): void;
}

/** The part of `process.stderr` that is needed here. */
export interface LogStream {
  write(text: string): boolean;
  once(event: "drain", listener: () => void): unknown;
  /** Characters that wait for the reader. */
  readonly writableLength: number;
  readonly isTTY?: boolean;
}

/** stderr: stdout belongs to the results of commands. */
const DESCRIPTOR = 2;
/** Characters that wait for a reader that has stalled; what comes after them is dropped. */
const WAITING_LIMIT = 256 * 1024;

/**
 * Writes lines to stderr and never waits for who reads them (journald that hangs, a pager, the log driver of a container).
 *
 * @param onDropped called with the number of lines that were dropped, once the reader has caught up.
 */
export function openLogOutput(stderr: LogStream, onDropped: (lines: number) => void): LogOutput {
  if (!isStream(stderr)) return { write: writeToFile };
  let dropped = 0;
  return {
    write(line) {
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

/** Node writes to pipes, sockets and terminals through a stream that waits; to a file it writes at once. */
function isStream({ isTTY }: LogStream): boolean {
  const stats = fstatSync(DESCRIPTOR);
  return stats.isFIFO() || stats.isSocket() || isTTY === true;
}

/** Not by Node's stream, which would be gone for good after one line that a full disk did not take. */
function writeToFile(line: string): void {
  try {
    writeSync(DESCRIPTOR, line);
  } catch {
    // A full disk loses lines, not the program.
  }
}
