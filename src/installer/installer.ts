/**
 * The installer puts the agent on a robot without a package manager, and takes it off again.
 *
 * Both commands look at the machine each time, and trust no earlier run:
 *
 *     observe   the files at the installation's paths, and the installed versions     plan/observation.ts, plan/installed.ts
 *     plan      (wanted, observed) → steps, and the edited files that are kept        plan/wanted.ts, plan/plan.ts, plan/plan-removal.ts; pure
 *     apply     each step is atomic                                                   apply/apply.ts, apply/removal.ts
 *
 * Each version has its own folder. It holds the program, its Node, and a copy of each file that is installed elsewhere, such as the units:
 * a file that differs from all copies was edited by the administrator, and is kept. Near the end the link `current` is replaced atomically.
 * The next run completes an interrupted one. If the service does not start with the new version, the installer restores the previous one.
 *
 * All changes go through `Disk` to one tree of files: `/`, or an image (`--root`). No path leaves that tree.
 */
import * as fs from "node:fs/promises";

import { type Files, systemFiles } from "../platform/files/files.ts";
import { type RunProgram, systemPrograms } from "../platform/programs.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../platform/terminal.ts";
import type { Disk } from "./disk/disk.ts";
import { openRootedDisk } from "./disk/rooted-disk.ts";

/** The running process: the installer installs its own program and its own Node. */
export interface OwnProcess {
  readonly platform: string;
  /** The running program, links resolved. */
  programPath(): Promise<string>;
  /** The Node that runs it, links resolved. */
  nodePath(): Promise<string>;
  /** Shared libraries that this Node has loaded. */
  nodeLibraries(): readonly string[];
}

export const ownProcess: OwnProcess = {
  platform: process.platform,
  programPath: () => fs.realpath(process.argv[1] ?? ""),
  nodePath: () => fs.realpath(process.execPath),
  nodeLibraries() {
    const report: unknown = process.report.getReport();
    if (typeof report !== "object" || report === null || !("sharedObjects" in report)) return [];
    const libraries: unknown = report.sharedObjects;
    return Array.isArray(libraries) ? libraries.filter((each) => typeof each === "string") : [];
  },
};

/** The machine as the installer sees it; a test replaces it by one that fails at a chosen step. */
export interface InstallerMachine {
  /** @throws Node system errors: `root` cannot be opened, or is not a folder. */
  openDisk(root: string): Promise<Disk & AsyncDisposable>;
  /** The root of its own files. */
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

/** A refusal, or a failure that changed nothing; `problem.fix` says what to do. */
export interface InstallerProblem {
  readonly kind: "problem";
  readonly problem: Problem;
}

export function refusal(problem: Problem): InstallerProblem {
  return { kind: "problem", problem };
}

/** Shows why a command failed. */
export function fail(problem: Problem, { terminal }: InstallerContext): ExitCode {
  terminal.problem(problem);
  return EXIT.failed;
}
