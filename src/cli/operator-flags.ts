import type { OperatorContext } from "../operator/context.ts";
import type { OperatorFlags } from "../operator/flags.ts";
import type { CommandRow, FlagRow } from "./command-table.ts";

export type OperatorRow = CommandRow<OperatorFlags, OperatorContext>;

/** For every table with many columns. */
export const COLUMN_FLAGS: readonly FlagRow[] = [
  { flag: "--wide", summary: "show all columns in full, even on a narrow terminal" },
  { flag: "--columns <names>", summary: "show only these columns, in this order, such as name,id" },
];

/** For every list. */
export const LIST_FLAGS: readonly FlagRow[] = [
  ...COLUMN_FLAGS,
  {
    flag: "--watch",
    summary: "keep the list up to date: in place on a terminal; elsewhere and with --wide, a line per change",
  },
  {
    flag: "--interval <seconds>",
    summary: "time between two requests with --watch, 1 to 3600 (default: 2)",
    needs: "--watch",
  },
];

/** For every command that changes something. */
export const DRY_RUN_FLAG: FlagRow = { flag: "--dry-run", summary: "show the request and send nothing" };

/** For every command that ends or replaces something. */
export const YES_FLAG: FlagRow = {
  flag: "--yes",
  summary: "do not ask for confirmation; only a terminal is asked",
};

/** For every command that waits. */
export const TIMEOUT_FLAG: FlagRow = {
  flag: "--timeout <time>",
  summary: "longest wait of --wait: 90s, 10m, 2h (default: 30m)",
  needs: "--wait",
};

export function labelFlag(summary: string): FlagRow {
  return { flag: "--label <name=value>", summary, repeats: true, names: "labels" };
}

export function robotFlag(summary: string): FlagRow {
  return { flag: "--robot <robot>", summary, repeats: true, names: "robots" };
}
