/** Log levels, from most verbose to none; separate from log.ts so that `--help` does not load the logger. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
