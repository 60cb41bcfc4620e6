import { execFile, type ExecFileOptions, spawnSync } from "node:child_process";
import { promisify } from "node:util";

import { endWithScript } from "./end-of-script.ts";

/** A system program is missing or failed; the message is for the person at the terminal. */
export class ProgramError extends Error {}

/** The Debian packages of programs that a small system may lack. */
const PACKAGES: Readonly<Record<string, string>> = {
  "apt-ftparchive": "apt-utils",
  "dpkg-deb": "dpkg",
  gzip: "gzip",
  tar: "tar",
  xz: "xz-utils",
};

/**
 * Runs a program. It ends with this script at the latest.
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

/** Which program is missing, and the package that contains it; null when none is. */
export function findMissingProgram(programs: readonly string[]): string | null {
  const missing = programs.find(
    (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error !== undefined,
  );
  return missing === undefined ? null : describeMissing(missing);
}

function describeFailure(program: string, error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: Buffer };
  const output = stderr?.toString().trim() ?? "";
  // A program that runs a missing one fails with its own message.
  const missing = code === "ENOENT" ? program : /\b(xz|gzip)\b.*(?:No such file|not found)/i.exec(output)?.[1];
  if (missing === undefined) return `${program} failed (${String(code)}): ${output === "" ? error.message : output}`;
  return describeMissing(missing);
}

function describeMissing(program: string): string {
  return `${program} is not installed; on Debian and Ubuntu: sudo apt-get install ${PACKAGES[program] ?? program}`;
}
