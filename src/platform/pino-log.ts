import type { Logger } from "pino";

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

/** stderr: stdout belongs to the results of commands. */
const DESCRIPTOR = 2;
/** Lines that wait for pino to load; more would mean that it never does. */
const WAITING_LIMIT = 1000;

/**
 * A log over pino, which is loaded once the program has had the time to start: the first lines wait for it.
 * Writes are synchronous, so that a line is out before the process is.
 */
export function createLog(first: LogOptions): AdjustableLog {
  const waiting: Line[] = [];
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
      void openLogger(opening).then((opened) => {
        // Adjusted meanwhile.
        if (opening !== options) return load();
        logger = opened;
        loading = false;
        for (const line of waiting.splice(0)) write(...line);
      });
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
      // The next line opens it anew; both would write to the same descriptor, which stays open.
      logger = null;
    },
  };
}

async function openLogger({ level, format }: LogOptions): Promise<Logger> {
  const { destination, pino } = await import("pino");
  const output = destination({ dest: DESCRIPTOR, sync: true });
  // A full disk or a reader that is gone loses lines, not the program.
  output.on("error", () => {});
  const settings = {
    level,
    // journald knows process and host.
    base: null,
    messageKey: "event",
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return format === "json" ? pino(settings, output) : pino(settings, { write: (line) => output.write(toText(line)) });
}

/** `12:00:00 warn unreachable reason=timeout`: the same line for people, who are served best by one that fits the terminal. */
function toText(line: string): string {
  const { level, time, event, ...fields }: Record<string, unknown> = JSON.parse(line);
  const pairs = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${[event, ...pairs].join(" ")}\n`;
}
