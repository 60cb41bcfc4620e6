/**
 * The installer puts the agent on a robot without a package manager, or into an image (`--root`), and takes it off again.
 *
 *     /usr/local/lib/robot-policy-agent/versions/ID   a version: the program and its Node
 *     /usr/local/lib/robot-policy-agent/current       the link to the version in use
 *     /usr/local/lib/robot-policy-agent/unfinished    exists while `install` changes the version; holds the id of the version before
 *
 * `install` (install.ts) compares what should be there (version.ts) with what is there (tree.ts) and writes the difference. Each write is
 * atomic and `current` is replaced last, so a run that was killed leaves the old version or the new one in use, and the next run completes
 * it. A version that does not start is taken back. `uninstall` (uninstall.ts) removes all of it.
 *
 * Files below /usr/local belong to the installer and are replaced. In /etc it writes only the key that it is given.
 */
import * as fs from "node:fs/promises";

import { type RunProgram, systemPrograms } from "../platform/programs.ts";
import { EXIT, type ExitCode, type Terminal } from "../platform/terminal.ts";
import { InstallerError, reasonOfError } from "./errors.ts";
import type { TreeFs } from "./tree.ts";

/** The running process: the installer installs its own program and its own Node. */
export interface OwnProcess {
  /** The running program, links resolved. */
  programPath(): Promise<string>;
  /** The Node that runs it, links resolved. */
  nodePath(): Promise<string>;
}

const ownProcess: OwnProcess = {
  programPath: () => fs.realpath(process.argv[1] ?? ""),
  nodePath: () => fs.realpath(process.execPath),
};

/** The machine as the installer sees it; a test replaces it by one that fails at a chosen step. */
export interface InstallerMachine {
  /** The root of the running system. */
  readonly root: string;
  readonly fs: TreeFs;
  readonly runProgram: RunProgram;
  readonly own: OwnProcess;
}

export const systemInstallerMachine: InstallerMachine = { root: "/", fs, runProgram: systemPrograms, own: ownProcess };

/** What a command gets from its caller, so that it never reads `process` itself. */
export interface InstallerContext {
  readonly terminal: Terminal;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly version: string;
  /** How a shell calls this program. */
  readonly program: string;
  readonly userId: number;
}

/** SIGINT or SIGTERM. */
class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Makes the changes of a command one by one, or with `--dry-run` only lists them. */
export class Changes {
  readonly isDry: boolean;
  readonly #context: InstallerContext;
  #count = 0;

  constructor(isDry: boolean, context: InstallerContext) {
    this.isDry = isDry;
    this.#context = context;
  }

  get count(): number {
    return this.#count;
  }

  /** @param what in the imperative, such as `write /usr/local/…`. */
  async make(what: string, change: () => Promise<void>): Promise<void> {
    await this.makeQuietly(what, change);
    if (!this.isDry) this.#context.terminal.print(what);
  }

  /** Shows the change only with `--dry-run`. */
  async makeQuietly(what: string, change: () => Promise<void>): Promise<void> {
    if (this.#context.signal.aborted) throw new Interrupted();
    this.#count += 1;
    if (this.isDry) this.#context.terminal.print(`would ${what}`);
    else await change();
  }
}

/** Shows the error that ended the command. @throws the error, if it is a bug. */
export function failWith(error: unknown, command: "install" | "uninstall", { terminal }: InstallerContext): ExitCode {
  const fix = `run ${command} again: it completes what is missing`;
  if (error instanceof Interrupted) {
    terminal.problem({ code: "interrupted", what: `${command} was interrupted`, fix });
    return EXIT.interrupted;
  }
  const unexpected = () => ({
    code: `not-${command}ed`,
    what: reasonOfError(error),
    fix: `fix the cause, then ${fix}`,
  });
  terminal.problem(error instanceof InstallerError ? error.problem : unexpected());
  return EXIT.failed;
}
