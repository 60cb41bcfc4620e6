import { pino } from "pino";

import { maskWholeKeys } from "../../api/wire/service-key.ts";
import { jsonLine, lineSettings, type Log } from "../../platform/log/log.ts";
import type { LogOutput } from "../../platform/log/log-output.ts";
import type { LogLevel } from "./log-level.ts";

/** Structured log, one JSON object per line: `event` names the change, other fields describe it. */
export function createLog(level: LogLevel, output: LogOutput): Log {
  const logger = pino({ level, ...lineSettings(maskWholeKeys) }, { write: (line) => output.write(jsonLine(line)) });
  return {
    debug: (event, fields) => logger.debug(fields ?? {}, event),
    info: (event, fields) => logger.info(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
  };
}
