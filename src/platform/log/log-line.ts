import { maskWholeKeys } from "../text/service-key.ts";
import { visible } from "../text/visible.ts";

/** Longer values help nobody who reads a log: the words of a service, a path of all the bytes a path may have. */
const VALUE_LIMIT = 4096;

/** How every program's log is made by pino: one JSON object a line, `event` says what happened, the other fields say to what. */
export const LINE_SETTINGS = {
  // journald knows process and host.
  base: null,
  messageKey: "event",
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
  formatters: {
    level: (label: string) => ({ level: label }),
    log: (fields: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, fitValue(value)])),
  },
};

/** The same line with what is unseen in it written out, which JSON lets every text have; a terminal obeys nothing in it. */
export function jsonLine(line: string): string {
  return visible(line);
}

/** `12:00:00 warn  unreachable reason=timeout`: the same line for people, who are served best by one that fits the terminal. */
export function textLine(line: string): string {
  const { level, time, event, ...fields }: Record<string, unknown> = JSON.parse(line);
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${textValue(value)}`);
  return `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${[event, ...pairs].join(" ")}\n`;
}

/** Quoted where it would look like several fields, or like a line of its own. */
function textValue(value: unknown): string {
  const isPlain = typeof value === "string" && /^[^\s"=]+$/.test(value);
  return visible(isPlain ? value : JSON.stringify(value));
}

function fitValue(value: unknown): unknown {
  if (typeof value !== "string" && typeof value !== "object") return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const masked = maskWholeKeys(text);
  const fit = masked.length <= VALUE_LIMIT ? masked : `${masked.slice(0, VALUE_LIMIT - 1).toWellFormed()}…`;
  return fit === text ? value : fit;
}
