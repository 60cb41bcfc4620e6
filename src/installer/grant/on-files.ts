import type { ExitCode } from "../../platform/terminal.ts";
import { applyGrant } from "./apply.ts";
import type { GrantPlan } from "./grant.ts";
import { commandOf, describeStep, planGrant } from "./grant.ts";
import type { GrantRecord } from "./record.ts";
import type { GrantAsked, GrantRun } from "./run.ts";
import { stillUnreadable } from "./run.ts";
import { showGrant } from "./show-grant.ts";

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
