import * as fs from "node:fs/promises";

/** What the installer asks of the process it runs in: it installs the program that it is part of, and the Node that runs it. */
export interface OwnProcess {
  readonly platform: string;
  /** The program that was started, with all links followed. */
  programPath(): Promise<string>;
  /** The Node that runs it, with all links followed. */
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
