import type { LogStream } from "../../platform/log/log-output.ts";
import type { Terminal } from "../../platform/terminal.ts";

/** What every command is given. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** For the log; other output goes to the terminal. */
  readonly stderr: LogStream;
  /** Aborted when the command is to stop. */
  readonly signal: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly processId: number;
  readonly userId: number;
  /** Calls back at each SIGHUP. */
  onHangup(callback: () => void): void;
}
