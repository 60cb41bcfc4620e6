import type { Account } from "../../access/account.ts";
import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { commandOf, describeStep, type GrantPlan, type GrantStep, planGrant } from "./grant.ts";
import { changeLists, readListsOf } from "./lists.ts";
import { addEntries, type GrantedEntry, type GrantMachine, type GrantRecord, writeGrantRecord } from "./record.ts";
import { type GrantAsked, type GrantRun, showGrant, stillUnreadable } from "./run.ts";

/** `--method acl`: gives the agent's user rights through access lists of files and folders. */
export async function grantOnFiles(asked: GrantAsked): Promise<ExitCode> {
  const { machine, account, paths, options, terminal } = asked;
  using stack = new DisposableStack();
  const plan = await planGrant(machine, account, paths, stack);
  const notes = [...plan.notes, ...undone(plan, asked.record)];
  if (options.json !== true) {
    for (const step of plan.steps) terminal.print(`${step.entry.path}: ${describeStep(step, account)}`);
    for (const note of notes) terminal.note(note);
  }
  const isDry = options.dryRun === true;
  const failure =
    isDry || plan.steps.length === 0
      ? null
      : await applyGrant(machine, account, plan.steps, asked.record, asked.directory);
  if (!isDry && plan.steps.length > 0) await lookAgain(asked);
  const changes = plan.steps.map((step) => ({
    path: step.entry.path,
    what: describeStep(step, account),
    command: commandOf(step),
  }));
  const problems = [...plan.refusals, ...(failure === null ? [] : [failure])];
  const unreadable = isDry ? [] : await stillUnreadable(machine, account, paths);
  return showGrant(asked, {
    account,
    paths,
    changes,
    applied: !isDry && failure === null,
    unreadable,
    problems,
    notes,
  });
}

/** Files that were granted before and lost the right: the program that writes them resets it each time. */
function undone({ steps }: GrantPlan, record: GrantRecord): readonly string[] {
  const granted = new Set(record.entries.map(({ path }) => path));
  return steps
    .filter(({ entry }) => entry.stat.kind === "file" && granted.has(entry.path))
    .map(
      ({ entry }) =>
        `${entry.path} was granted before, but the program that writes it removed the right again, and will do so each time. --method owner is not affected.`,
    );
}

/** A reload makes the agent read the files now instead of at the next resync. Whether it succeeds does not matter here. */
async function lookAgain({ machine, unit }: GrantRun): Promise<void> {
  if (unit.kind !== "unit" || unit.unit.activeState !== "active") return;
  await machine.runProgram(["systemctl", "reload", "robot-policy-agent.service"], { limitMs: RELOAD_LIMIT_MS });
}

const RELOAD_LIMIT_MS = 15_000;

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
      const problem = await changeLists(machine.runProgram, step.entry, [`--modify=${step.entries.join(",")}`]);
      if (problem !== null) return { ...problem, what: `${problem.what}; the command was: ${commandOf(step)}` };
      const after = (await readListsOf(machine.runProgram, step.entry))?.text;
      if (after !== undefined)
        done.push({ path: step.entry.path, user_id: account.userId, before: step.before, after });
    }
    return null;
  } finally {
    await writeGrantRecord(machine.files, directory, addEntries(addEntries(record, planned), done));
  }
}
