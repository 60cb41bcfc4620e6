import * as fs from "node:fs/promises";

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
