import { pino } from "pino";

import { maskWholeKeys } from "../../api/wire/service-key.ts";
import { jsonLine, levelOf, lineSettings, type Log } from "../../platform/log/log.ts";
import type { LogOutput } from "../../platform/log/log-output.ts";
import type { LogLevel } from "./log-level.ts";

/** Structured log, one JSON object per line: `event` names the change, other fields describe it. */
export function createLog(level: LogLevel, output: LogOutput): Log {
  const write = (line: string) => output.write(jsonLine(line), levelOf(line));
  const logger = pino({ level, ...lineSettings(maskWholeKeys) }, { write });
  return {
    debug: (event, fields) => logger.debug(fields ?? {}, event),
    info: (event, fields) => logger.info(fields ?? {}, event),
    notice: (event, fields) => logger.notice(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
  };
}
