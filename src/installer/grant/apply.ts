import type { Account } from "../../access/account.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { GrantStep } from "./grant.ts";
import { commandOf } from "./grant.ts";
import { changeLists, readLists } from "./lists.ts";
import type { GrantMachine } from "./machine.ts";
import type { GrantedEntry, GrantRecord } from "./record.ts";
import { addEntries, writeGrantRecord } from "./record.ts";

/**
 * Does the steps. What is about to be done is on the disk before it is done: after a power cut in between, taking it back finds it,
 * and taking back what was not done changes nothing.
 *
 * @returns why it ended early, or null. @throws Node system errors of the record.
 */
export async function applyGrant(
  machine: GrantMachine,
  account: Account,
  steps: readonly GrantStep[],
  record: GrantRecord,
  directory: string,
): Promise<Problem | null> {
  const planned = steps.map(({ entry, before }): GrantedEntry => {
    return { path: entry.path, user_id: account.user_id, before, after: before };
  });
  await writeGrantRecord(machine.files, directory, addEntries(record, planned));
  const done: GrantedEntry[] = [];
  try {
    for (const step of steps) {
      const problem = await changeLists(machine.runProgram, step.entry, [
        "--no-mask",
        `--modify=${step.entries.join(",")}`,
      ]);
      if (problem !== null) return { ...problem, what: `${problem.what}; it was to be: ${commandOf(step)}` };
      const lists = await readLists(machine.runProgram, [step.entry]);
      const after = lists.kind === "lists" ? (lists.of.get(step.entry.path)?.text ?? "") : "";
      done.push({ path: step.entry.path, user_id: account.user_id, before: step.before, after });
    }
    return null;
  } finally {
    await writeGrantRecord(machine.files, directory, addEntries(addEntries(record, planned), done));
  }
}
