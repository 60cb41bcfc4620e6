import type { Access } from "../../access/access.ts";
import { explainAccess } from "../../access/access.ts";
import { judgeAs } from "../../access/judge.ts";
import type { Account } from "../../access/account.ts";
import type { FoundUnit } from "../../access/unit.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { GrantMachine } from "./machine.ts";
import type { GrantRecord } from "./record.ts";

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
