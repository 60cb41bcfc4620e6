/**
 * The installer puts the agent on a robot without a package manager, and takes it off again.
 *
 * Both commands work as the agent itself does, from what is there and not from what was done before:
 *
 *     observe   what lies where the installation belongs; the record of the last one          observation.ts, record.ts
 *     plan      (what is wanted, what was seen) → steps, and what a person edited and keeps   wanted.ts, plan.ts, removal.ts; pure
 *     apply     each step alone is atomic; the journal says how all of them are taken back    apply.ts, journal.ts, undo.ts
 *
 * An installation that was cut short, by a power cut or by `kill -9`, is put back by the next `install` or `uninstall` before it looks
 * around. One that fails puts itself back. A second run finds nothing to do.
 *
 * Everything is done to one tree of files, `/` or an image (`--root`), through `Disk`, which leads no path out of that tree.
 */
import type { Files } from "../platform/files.ts";
import { systemFiles } from "../platform/files.ts";
import type { RunProgram } from "../platform/programs.ts";
import { systemPrograms } from "../platform/programs.ts";
import type { Problem, Terminal } from "../platform/terminal.ts";
import type { Disk } from "./disk.ts";
import type { OwnProcess } from "./own-process.ts";
import { ownProcess } from "./own-process.ts";
import { openRootedDisk } from "./rooted-disk.ts";

/** The machine as the installer sees it: there is one real one, and in tests one that breaks where the test says. */
export interface InstallerMachine {
  /** @throws Node system errors where `root` is no folder that can be opened. */
  openDisk(root: string): Promise<Disk & AsyncDisposable>;
  /** Where its own files are. */
  readonly root: string;
  readonly files: Files;
  readonly runProgram: RunProgram;
  readonly own: OwnProcess;
}

export const systemInstallerMachine: InstallerMachine = {
  openDisk: openRootedDisk,
  root: "/",
  files: systemFiles,
  runProgram: systemPrograms,
  own: ownProcess,
};

/** What the commands are given; neither reaches for `process` itself. */
export interface InstallerContext {
  readonly terminal: Terminal;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly version: string;
  readonly user_id: number;
}

/** A refusal, or a failure after which everything is as it was; `problem.fix` says what to do. */
export interface InstallerProblem {
  readonly kind: "problem";
  readonly problem: Problem;
}

export function refusal(problem: Problem): InstallerProblem {
  return { kind: "problem", problem };
}
