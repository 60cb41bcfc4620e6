/**
 * The installer puts the agent on a robot without a package manager, and takes it off again.
 *
 * Both commands work as the agent itself does, from what is there and not from what was done before:
 *
 *     observe   what lies where the installation belongs, and which versions are there    plan/observation.ts, plan/installed.ts
 *     plan      (what is wanted, what was seen) → steps, and what was edited and stays     plan/wanted.ts, plan/plan.ts, plan/plan-removal.ts; pure
 *     apply     each step alone is atomic                                                  apply/apply.ts, apply/removal.ts
 *
 * Each version has a folder of its own, which holds the program, its Node, and a copy of each file that goes elsewhere, such as the units:
 * a file that differs from every copy was edited by the administrator, and stays. The link `current` is switched at once, last of all. A run
 * that was cut short is completed by the next one. If the service does not come up with the new version, the version before is put back.
 *
 * Everything is done to one tree of files, `/` or an image (`--root`), through `Disk`, which leads no path out of that tree.
 */
import type { Files } from "../platform/files/files.ts";
import { systemFiles } from "../platform/files/files.ts";
import type { RunProgram } from "../platform/programs.ts";
import { systemPrograms } from "../platform/programs.ts";
import type { Problem, Terminal } from "../platform/terminal.ts";
import type { Disk } from "./disk/disk.ts";
import { openRootedDisk } from "./disk/rooted-disk.ts";
import type { OwnProcess } from "./own-process.ts";
import { ownProcess } from "./own-process.ts";

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
