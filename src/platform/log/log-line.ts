import { visible } from "../text/visible.ts";

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
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) =>
        Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, fitValue(value, mask)])),
    },
  };
}

/** The line with invisible characters as JSON escapes, so that it cannot control a terminal. */
export function jsonLine(line: string): string {
  return visible(line);
}

/** `12:00:00 warn  unreachable reason=timeout`: the line as text, for people. */
export function textLine(line: string): string {
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
