/** Shared by the tests of `grant`: a home with a calibration, users, and the command. */
import { execFileSync } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import { createTerminal } from "../../../src/cli/terminal.ts";
import { grant, type GrantOptions } from "../../../src/installer/grant/grant.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { systemPrograms } from "../../../src/platform/programs.ts";
import { hasProgram, isRoot, NOBODY_ID } from "../../support/programs/programs.ts";

/** The robot's user and another user; neither is in a user database. */
export const ANN_ID = 41_001;
export const BEN_ID = 41_002;
/** The agent's user. */
export const AGENT_ID = NOBODY_ID;
export const AGENT = { name: "nobody", userId: AGENT_ID, groupId: AGENT_ID, groupIds: [AGENT_ID] };

export const canGrant = isRoot && ["setfacl", "getfacl", "setpriv"].every(hasProgram);
export const machine = { files: systemFiles, runProgram: systemPrograms };

export let folder: string;
export let home: string;
export let calibrations: string;
export let file: string;

/** Before each test: a calibration in Ann's home, which no other user may read. */
export async function prepareHome(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), "grant-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  home = join(folder, "ann");
  calibrations = join(home, ".cache/calibration");
  file = join(calibrations, "arm.json");
  if (!canGrant) return;
  await chmod(folder, 0o755);
  await mkdir(calibrations, { recursive: true });
  await writeFile(file, "{}\n");
  await mkdir(join(folder, "state"));
  await chown(join(folder, "state"), AGENT_ID, AGENT_ID);
  for (const path of [home, join(home, ".cache"), calibrations, file]) await chown(path, ANN_ID, ANN_ID);
  await chmod(home, 0o750);
  await chmod(join(home, ".cache"), 0o700);
  await chmod(calibrations, 0o755);
  await chmod(file, 0o600);
}

/** Runs the command in this process, with its record in the test's folder. */
export async function runGrant(options: GrantOptions = {}, paths: readonly string[] = [file]) {
  let output = "";
  const sink = { write: (text: string) => void (output += text) };
  const inputs = { paths, keyFile: null, stateDirectory: join(folder, "state") };
  const code = await grant(options, {
    terminal: createTerminal({ stdout: sink, stderr: sink, environment: {} }),
    machine: { files: systemFiles },
    userId: 0,
    recordDirectory: join(folder, "record"),
    readInputs: async () => inputs,
  });
  return { code, output: output.replaceAll(folder, "") };
}

export function run(...[program = "", ...args]: readonly string[]): string {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs a shell script as this user; `$1` is the calibration file, `$2` its folder. */
export function as(userId: number, script: string): void {
  runAs(userId, "sh", "-ec", script, "sh", file, calibrations);
}

export function runAs(userId: number, ...argv: readonly string[]): void {
  run("setpriv", `--reuid=${userId}`, `--regid=${userId}`, "--clear-groups", ...argv);
}

export function canRead(userId: number, path = file): boolean {
  try {
    runAs(userId, "cat", path);
    return true;
  } catch {
    return false;
  }
}

/** Modes, owners and access lists of everything in Ann's home. */
export function accessLists(): string {
  return run("getfacl", "-R", "-n", "-p", home);
}
