import type { OperatorFlags } from "../context.ts";
import type { ColumnFlags } from "./columns.ts";

export interface ListFlags extends OperatorFlags, ColumnFlags {
  readonly watch?: boolean;
  /** Seconds between two requests of `--watch`. */
  readonly interval?: string;
}
