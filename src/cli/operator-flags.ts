import type { OperatorContext, OperatorFlags } from "../operator/context.ts";
import type { CommandRow, FlagRow } from "./command-table.ts";

/** Every flag any command of robot-policy takes. */
export interface CommandFlags extends OperatorFlags {
  readonly wide?: boolean;
  readonly columns?: string;
  readonly watch?: boolean;
  readonly interval?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly browser?: boolean;
  readonly label?: readonly string[];
  readonly scope?: readonly string[];
  readonly expires?: string;
  readonly independent?: boolean;
  readonly maxRobots?: string;
  readonly out?: string;
  readonly since?: string;
  readonly until?: string;
  readonly by?: string;
  readonly csv?: boolean;
  readonly refused?: boolean;
  readonly robot?: readonly string[];
  readonly model?: string;
  readonly status?: string;
  readonly site?: string;
  readonly region?: string;
  readonly clearSite?: boolean;
  readonly clearLabels?: boolean;
  readonly type?: string;
  readonly digest?: boolean;
  readonly sort?: string;
  readonly history?: boolean;
  readonly contract?: boolean;
  readonly from?: string;
  readonly name?: string;
  readonly file?: readonly string[];
  readonly configurationDigest?: string;
  readonly manifest?: string;
  readonly peak?: string;
  readonly mode?: string;
  readonly window?: readonly string[];
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly all?: boolean;
  readonly field?: readonly string[];
  readonly rawField?: readonly string[];
  readonly input?: string;
  readonly paginate?: boolean;
  readonly include?: boolean;
}

export type OperatorRow = CommandRow<CommandFlags, OperatorContext>;

/** For every table with many columns. */
export const COLUMN_FLAGS: readonly FlagRow[] = [
  { flag: "--wide", summary: "show every column in full, however narrow the terminal is" },
  { flag: "--columns <names>", summary: "show these columns alone, in this order, such as name,id" },
];

/** For every list. */
export const LIST_FLAGS: readonly FlagRow[] = [
  ...COLUMN_FLAGS,
  { flag: "--watch", summary: "show it again and again: in place on a terminal, a line per change elsewhere" },
  { flag: "--interval <seconds>", summary: "time between two looks with --watch, 1 to 3600 (default: 2)" },
];

/** For every command that changes something. */
export const DRY_RUN_FLAG: FlagRow = { flag: "--dry-run", summary: "show the request and send nothing" };

/** For every command that ends or replaces something. */
export const YES_FLAG: FlagRow = { flag: "--yes", summary: "do not ask first; without a terminal nobody is asked" };
