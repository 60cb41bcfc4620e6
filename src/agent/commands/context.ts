import type { LogStream } from "../../platform/log/log-output.ts";
import type { Machine } from "../../platform/machine.ts";
import type { DivertSignals } from "../../platform/programs.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import type { FolderOptions } from "../configuration/folders.ts";

/** The environment of every command of the agent; commands do not use `process`. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly machine: Machine;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Calls back at each SIGHUP. */
  onHangup(callback: () => void): void;
  readonly divertSignals: DivertSignals;
  /** Output of the log; all other output goes to the terminal. */
  readonly stderr: LogStream;
  readonly version: string;
  readonly processId: number;
  readonly userId: number;
}

export interface CommonOptions extends FolderOptions {
  readonly json?: boolean;
}

export type Command<Options> = (options: Options, context: CommandContext) => Promise<ExitCode>;
