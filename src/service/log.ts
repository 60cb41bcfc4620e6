import { pino } from "pino";
import type { DestinationStream } from "pino";

import type { Log } from "../platform/log.ts";
import type { LogLevel } from "./log-level.ts";

/** Structured log lines, one JSON object each: `event` says what changed, the other fields say to what. */
export function createLog(level: LogLevel, destination: DestinationStream): Log {
  const logger = pino(
    {
      level,
      base: null,
      messageKey: "event",
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return {
    debug: (event, fields) => logger.debug(fields ?? {}, event),
    info: (event, fields) => logger.info(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
  };
}
