import type { Account } from "../../access/account.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { GrantStep } from "./grant.ts";
import { commandOf } from "./grant.ts";
import { changeLists, readLists } from "./lists.ts";
import type { GrantMachine } from "./machine.ts";
import type { GrantedEntry, GrantRecord } from "./record.ts";
import { addEntries, writeGrantRecord } from "./record.ts";

/**
 * Applies the steps. The record is on disk before the first change, so that `--revoke` also works after a power cut; to revoke a change that
 * was never made does nothing.
 *
 * @returns the problem that stopped it, or null. @throws Node system errors of the record.
 */
export async function applyGrant(
  machine: GrantMachine,
  account: Account,
  steps: readonly GrantStep[],
  record: GrantRecord,
  directory: string,
): Promise<Problem | null> {
  const planned = steps.map(({ entry, before }): GrantedEntry => {
    return { path: entry.path, user_id: account.userId, before, after: before };
  });
  await writeGrantRecord(machine.files, directory, addEntries(record, planned));
  const done: GrantedEntry[] = [];
  try {
    for (const step of steps) {
      const problem = await changeLists(machine.runProgram, step.entry, [
        "--no-mask",
        `--modify=${step.entries.join(",")}`,
      ]);
      if (problem !== null) return { ...problem, what: `${problem.what}; the command was: ${commandOf(step)}` };
      const lists = await readLists(machine.runProgram, [step.entry]);
      const after = lists.kind === "lists" ? (lists.of.get(step.entry.path)?.text ?? "") : "";
      done.push({ path: step.entry.path, user_id: account.userId, before: step.before, after });
    }
    return null;
  } finally {
    await writeGrantRecord(machine.files, directory, addEntries(addEntries(record, planned), done));
  }
}
