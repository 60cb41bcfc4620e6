import type { Machine } from "../platform/machine.ts";
import type { Questions, Terminal } from "../platform/terminal.ts";

/** What every operator command gets from its caller. */
export interface OperatorContext {
  readonly terminal: Terminal;
  readonly machine: Machine;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Questions at the terminal; null where stdin is not a terminal. */
  openQuestions(): Questions | null;
  /** Reads all of stdin. */
  readInput(limitBytes: number): Promise<string | "too-large">;
  readonly userId: number;
  readonly version: string;
}
