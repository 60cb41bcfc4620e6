import { type Access, explainAccess } from "../../access/access.ts";
import { type Account, accountName } from "../../access/account.ts";
import { judgeAs } from "../../access/judge.ts";
import type { FoundUnit } from "../../access/unit.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import type { GrantMachine, GrantRecord } from "./record.ts";

/** Flags of the command. */
export interface GrantOptions {
  readonly method?: string;
  readonly dryRun?: boolean;
  readonly revoke?: boolean;
  readonly json?: boolean;
}

/** One call of `grant`. */
export interface GrantRun {
  readonly options: GrantOptions;
  readonly terminal: Terminal;
  readonly machine: GrantMachine;
  readonly directory: string;
  readonly unit: FoundUnit;
}

/** With the user and the files to grant. */
export interface GrantAsked extends GrantRun {
  readonly record: GrantRecord;
  readonly account: Account;
  readonly paths: readonly string[];
  readonly keyFile: string | null;
}

/** The paths that the user still cannot read after the grant. */
export async function stillUnreadable(
  machine: GrantMachine,
  account: Account,
  paths: readonly string[],
): Promise<readonly string[]> {
  const accesses = await explainAccess(machine.files, judgeAs(account, machine.runProgram), paths);
  return [...accesses]
    .filter(([, access]: readonly [string, Access]) => access.kind !== "readable")
    .map(([path]) => path);
}

/** Of `grant --json`. */
export const SCHEMA_VERSION = 1;

export interface GrantResult {
  readonly account: Account;
  readonly paths: readonly string[];
  readonly changes: readonly { readonly path: string; readonly what: string; readonly command: string }[];
  readonly applied: boolean;
  /** Paths that the user still cannot read, as the kernel answers after the grant. */
  readonly unreadable: readonly string[];
  readonly problems?: readonly Problem[];
  readonly notes?: readonly string[];
}

export function showGrant({ options, terminal }: GrantRun, result: GrantResult): ExitCode {
  const { account, paths, changes, applied, unreadable, problems = [], notes = [] } = result;
  if (options.json === true) {
    const user = { name: account.name, user_id: account.userId };
    terminal.json({
      schema_version: SCHEMA_VERSION,
      user,
      files: paths,
      changes,
      applied,
      unreadable,
      problems,
      notes,
    });
  } else if (changes.length === 0 && problems.length === 0) {
    terminal.print(
      `${accountName(account)} can read ${paths.length === 1 ? "the file" : `all ${paths.length} files`}: nothing to grant.`,
    );
  } else if (options.dryRun === true) {
    terminal.print("Nothing was changed. Run it without --dry-run to apply this; grant --revoke undoes it.");
  } else if (applied && unreadable.length === 0) {
    terminal.print(`${accountName(account)} can read them now. To undo this: robot-policy-agent grant --revoke`);
  }
  for (const problem of problems) terminal.problem(problem);
  for (const path of problems.length > 0 ? [] : unreadable) {
    terminal.problem({
      code: "grant-in-vain",
      what: `${accountName(account)} still cannot read it: something other than its mode and access list denies it`,
      where: path,
      fix: "check the mount options and security modules: findmnt -T FILE; aa-status; or use another method: --method owner",
    });
  }
  return problems.length === 0 && unreadable.length === 0 ? EXIT.ok : EXIT.failed;
}

export function showRefusal(
  { options, terminal }: GrantRun,
  problem: Problem,
  exitCode: ExitCode = EXIT.failed,
): ExitCode {
  if (options.json === true) terminal.json({ schema_version: SCHEMA_VERSION, applied: false, problem });
  terminal.problem(problem);
  return exitCode;
}
