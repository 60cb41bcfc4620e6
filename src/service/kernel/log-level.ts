/** What the log tells, from most to nothing; apart from log.ts so that `--help` loads no logger. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
