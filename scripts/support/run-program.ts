import type { ExecFileOptions } from "node:child_process";
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";

import { endWithScript } from "./end-of-script.ts";

/** A program of the system that is missing, or that failed; the message is for the person at the terminal. */
export class ProgramError extends Error {}

/** Debian's packages of those that a small system may lack. */
const PACKAGES: Readonly<Record<string, string>> = { "dpkg-deb": "dpkg", gzip: "gzip", tar: "tar", xz: "xz-utils" };

/**
 * Runs a program to its end, which is this script's at the latest.
 *
 * @returns what it wrote to stdout.
 * @throws ProgramError
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<Buffer> {
  const running = promisify(execFile)(program, args, { ...options, encoding: "buffer" });
  endWithScript(running.child);
  try {
    return (await running).stdout;
  } catch (error) {
    throw new ProgramError(describeFailure(program, error), { cause: error });
  }
}

/** Says which of the programs is missing, and what brings it; null where all are there. */
export function findMissingProgram(programs: readonly string[]): string | null {
  const missing = programs.find(
    (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error !== undefined,
  );
  return missing === undefined ? null : describeMissing(missing);
}

function describeFailure(program: string, error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: Buffer };
  const told = stderr?.toString().trim() ?? "";
  // A program that runs another one says so in words of its own.
  const missing = code === "ENOENT" ? program : /\b(xz|gzip)\b.*(?:No such file|not found)/i.exec(told)?.[1];
  if (missing === undefined) return `${program} failed (${String(code)}): ${told === "" ? error.message : told}`;
  return describeMissing(missing);
}

function describeMissing(program: string): string {
  return `${program} is not installed; on Debian and Ubuntu: sudo apt-get install ${PACKAGES[program] ?? program}`;
}
