import type { EntryHandle } from "../platform/entry-handle.ts";
import { FIRST_DESCRIPTOR } from "../platform/programs.ts";
import type { Account } from "../platform/service-account.ts";
import type { Problem } from "../platform/terminal.ts";
import type { GrantMachine, GrantStep } from "./grant.ts";
import { commandOf, readLists } from "./grant.ts";
import type { GrantedEntry, GrantRecord } from "./grant-record.ts";
import { addEntries, writeGrantRecord } from "./grant-record.ts";

/** This file of every program that it is handed to. */
const HANDED = `/proc/self/fd/${FIRST_DESCRIPTOR}`;

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
      const problem = await changeLists(machine, step.entry, ["--no-mask", `--modify=${step.entries.join(",")}`]);
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

/** Runs setfacl(1) on an open entry. @returns what went wrong, or null. */
export async function changeLists(
  { runProgram }: GrantMachine,
  entry: EntryHandle,
  words: readonly string[],
): Promise<Problem | null> {
  const result = await runProgram(["setfacl", ...words, "--", HANDED], { descriptors: [entry.descriptor] });
  if (result.kind === "ended" && result.exit_code === 0) return null;
  const said = result.kind === "ended" ? (result.stderr.trim().split(": ").at(-1) ?? "") : result.kind;
  const what = `setfacl cannot change ${entry.path} (${said})`;
  const fix =
    said === "Operation not supported"
      ? "this filesystem keeps no access lists: --method group, or --method owner"
      : "see whether the filesystem is read-only: mount";
  return { code: "grant-failed", what, where: entry.path, fix };
}
