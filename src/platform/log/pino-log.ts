import type { Logger } from "pino";

import { jsonLine, lineSettings, type Mask, textLine } from "./log-line.ts";
import type { LogOutput } from "./log-output.ts";
import type { Log } from "./log.ts";

export interface LogOptions {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly format: "json" | "text";
}

/** A log whose level and format may change while the program runs. */
export interface AdjustableLog extends Log {
  adjust(options: LogOptions): void;
}

type Line = readonly [level: keyof Log, event: string, fields: Readonly<Record<string, unknown>>];

/** Bounds the lines that wait for pino to load. */
const WAITING_LIMIT = 1000;

/** A log over pino, which is loaded after the start; the first lines wait for it. */
export function createLog(
  first: LogOptions,
  mask: Mask,
  openOutput: (onDropped: (lines: number) => void) => LogOutput,
): AdjustableLog {
  const waiting: Line[] = [];
  const output = openOutput((lines) => write("warn", "log-lines-dropped", { lines }));
  let options = first;
  let logger: Logger | null = null;
  let loading = false;

  function write(...line: Line): void {
    if (logger === null) {
      if (waiting.length < WAITING_LIMIT) waiting.push(line);
      if (!loading) load();
      return;
    }
    const [level, event, fields] = line;
    logger[level](fields, event);
  }

  function load(): void {
    loading = true;
    setImmediate(() => {
      const opening = options;
      openLogger(opening, mask, output).then(
        (opened) => {
          // Adjusted meanwhile.
          if (opening !== options) return load();
          logger = opened;
          loading = false;
          for (const line of waiting.splice(0)) write(...line);
        },
        () => {
          // No file descriptor is left to load it (EMFILE): the next line tries again.
          loading = false;
        },
      );
    });
  }

  return {
    debug: (event, fields = {}) => write("debug", event, fields),
    info: (event, fields = {}) => write("info", event, fields),
    warn: (event, fields = {}) => write("warn", event, fields),
    error: (event, fields = {}) => write("error", event, fields),
    adjust(next) {
      if (next.level === options.level && next.format === options.format) return;
      options = next;
      // The next line opens it anew, over the same output.
      logger = null;
    },
  };
}

async function openLogger({ level, format }: LogOptions, mask: Mask, output: LogOutput): Promise<Logger> {
  const { pino } = await import("pino");
  const toLine = format === "json" ? jsonLine : textLine;
  return pino({ level, ...lineSettings(mask) }, { write: (line) => output.write(toLine(line)) });
}
