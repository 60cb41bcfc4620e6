import type { Logger } from "pino";

import { visible } from "../text/visible.ts";
import type { LogOutput } from "./log-output.ts";

/** The log of state changes. Fields are structured and never contain a key or a body. */
export interface Log {
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  /** What people look for later, such as a registration; shown wherever info is. */
  notice(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

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
  let logger: Logger<"notice"> | null = null;
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
    notice: (event, fields = {}) => write("notice", event, fields),
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

/** A log over pino for a command that has something to say: each line is written before the call returns. */
export async function openLog(options: LogOptions, mask: Mask, output: LogOutput): Promise<Log> {
  const logger = await openLogger(options, mask, output);
  return {
    debug: (event, fields = {}) => logger.debug(fields, event),
    info: (event, fields = {}) => logger.info(fields, event),
    notice: (event, fields = {}) => logger.notice(fields, event),
    warn: (event, fields = {}) => logger.warn(fields, event),
    error: (event, fields = {}) => logger.error(fields, event),
  };
}

async function openLogger({ level, format }: LogOptions, mask: Mask, output: LogOutput): Promise<Logger<"notice">> {
  const { pino } = await import("pino");
  const toLine = format === "json" ? jsonLine : textLine;
  return pino({ level, ...lineSettings(mask) }, { write: (line) => output.write(toLine(line), levelOf(line)) });
}

/** Cuts long values, such as error texts of a service or very long paths. */
const VALUE_LIMIT = 4096;

/** Replaces secrets in the text of a field. */
export type Mask = (text: string) => string;

/** The pino options of every program: one JSON object per line, with `event` for what happened and further fields. */
export function lineSettings(mask: Mask) {
  return {
    // journald adds process and host.
    base: null,
    messageKey: "event",
    // Between info (30) and warn (40).
    customLevels: { notice: 35 },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) =>
        Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, fitValue(value, mask)])),
    },
  };
}

/** The level of a line as pino writes it: its first member. */
export function levelOf(line: string): string {
  return /^\{"level":"(\w+)"/.exec(line)?.[1] ?? "info";
}

/** The line with invisible characters as JSON escapes, so that it cannot control a terminal. */
export function jsonLine(line: string): string {
  return visible(line);
}

/** `12:00:00 warn  unreachable reason=timeout`: the line as text, for people. */
function textLine(line: string): string {
  const { level, time, event, ...fields }: Record<string, unknown> = JSON.parse(line);
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${textValue(value)}`);
  return `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${[event, ...pairs].join(" ")}\n`;
}

/** Quoted when it could be read as several fields or lines. */
function textValue(value: unknown): string {
  const isPlain = typeof value === "string" && /^[^\s"=]+$/.test(value);
  return visible(isPlain ? value : JSON.stringify(value));
}

function fitValue(value: unknown, mask: Mask): unknown {
  if (typeof value !== "string" && typeof value !== "object") return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const masked = mask(text);
  const fit = masked.length <= VALUE_LIMIT ? masked : `${masked.slice(0, VALUE_LIMIT - 1).toWellFormed()}…`;
  return fit === text ? value : fit;
}
