/**
 * `grant`: gives the agent's user the least access that lets it read the robot's configuration files.
 *
 * `acl.ts` reads and changes access lists, `lists.ts` says which to change, `revoke.ts` takes all back that `record.ts` remembers. `owner.ts`
 * is the other method.
 */
import { explainAccess, probeAs } from "../../access/access.ts";
import { type Account, accountName, findServiceAccount } from "../../access/account.ts";
import { OpenEntries } from "../../access/open-path.ts";
import { type FoundUnit, readServiceUnit } from "../../access/unit.ts";
import type { Files } from "../../platform/files/files.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { NOTES_FOLDER } from "../layout.ts";
import { applyLists, describeStep, planLists } from "./lists.ts";
import { applyOwner, describeOwner, planOwner, restartUnit } from "./owner.ts";
import { type GrantMachine, type GrantRecord, lockGrantRecord, readGrantRecord } from "./record.ts";
import { revokeGrant } from "./revoke.ts";

export interface GrantOptions {
  readonly method?: string;
  readonly dryRun?: boolean;
  readonly revoke?: boolean;
}

/** From the agent's configuration and manifest. */
export interface GrantInputs {
  /** The robot's configuration files, absolute. */
  readonly paths: readonly string[];
  readonly keyFile: string | null;
  readonly stateDirectory: string;
}

export interface GrantContext {
  readonly terminal: Terminal;
  readonly machine: { readonly files: Files };
  readonly userId: number;
  /** A problem when configuration or manifest is invalid. Not called for `--revoke`, which needs neither. */
  readInputs(): Promise<GrantInputs | Problem>;
  /** The folder of the grant record; tests use their own. */
  readonly recordDirectory?: string;
}

/** One call of `grant`. */
interface GrantRun {
  readonly isDry: boolean;
  readonly terminal: Terminal;
  readonly machine: GrantMachine;
  readonly directory: string;
  readonly unit: FoundUnit;
  readonly record: GrantRecord;
}

/** With the files to grant, and the user that shall read them. */
interface GrantRequest extends GrantRun {
  readonly account: Account;
  readonly paths: readonly string[];
  readonly keyFile: string | null;
}

export async function grant(options: GrantOptions, context: GrantContext): Promise<ExitCode> {
  const { terminal, userId } = context;
  const machine: GrantMachine = { files: context.machine.files, runProgram: systemPrograms };
  const directory = context.recordDirectory ?? NOTES_FOLDER;
  const isDry = options.dryRun === true;
  if (userId !== 0) return refuse(terminal, NOT_ROOT);
  await using lock = isDry ? null : await lockGrantRecord(machine.files, directory);
  if (lock !== null && lock.problem !== null) return refuse(terminal, lock.problem);
  const record = await readGrantRecord(machine.files, directory);
  if ("code" in record) return refuse(terminal, record);
  const unit = await readServiceUnit(machine.files, machine.runProgram);
  const run: GrantRun = { isDry, terminal, machine, directory, unit, record };
  if (options.revoke === true) return await revoke(run);

  const inputs = await context.readInputs();
  if ("code" in inputs) return refuse(terminal, inputs, EXIT.invalid);
  const { account, name } = await findServiceAccount({ ...machine, unit, ...inputs, userId });
  if (account === null) {
    const what = `the user ${name} does not exist yet`;
    const fix = "install the agent first: robot-policy-agent install, or its package";
    return refuse(terminal, { code: "no-service-user", what, fix });
  }
  const request: GrantRequest = { ...run, account, paths: inputs.paths, keyFile: inputs.keyFile };
  return options.method === "owner" ? await grantAsOwner(request) : await grantByLists(request);
}

/** `--method acl`: rights by the access lists of files and folders. */
async function grantByLists(request: GrantRequest): Promise<ExitCode> {
  const { machine, account, paths, record, directory, unit, isDry, terminal } = request;
  await using opened = new OpenEntries();
  const { steps, problems, notes } = await planLists(machine.runProgram, account, paths, record, opened);
  for (const step of steps) terminal.print(describeStep(step, account));
  for (const note of notes) terminal.note(note);
  if (steps.length === 0) {
    const what = paths.length === 1 ? "the file" : `all ${paths.length} files`;
    if (problems.length === 0) terminal.print(`${accountName(account)} can read ${what}: nothing to grant.`);
    return showProblems(terminal, problems);
  }
  if (isDry) {
    terminal.print(NOTHING_CHANGED);
    return showProblems(terminal, problems);
  }
  const failure = await applyLists(machine, account, steps, record, directory);
  // A reload makes the agent read the files now instead of at the next resync. Whether it succeeds does not matter here.
  if (unit.kind === "unit" && unit.unit.activeState === "active")
    await machine.runProgram(["systemctl", "reload", "robot-policy-agent.service"], { limitMs: RELOAD_LIMIT_MS });
  return await showResult(request, failure === null ? problems : [...problems, failure]);
}

const RELOAD_LIMIT_MS = 15_000;
const NOTHING_CHANGED = "Nothing was changed. Run it without --dry-run to apply this; grant --revoke undoes it.";

async function grantAsOwner(request: GrantRequest): Promise<ExitCode> {
  const { machine, account, paths, keyFile, record, directory, terminal, unit, isDry } = request;
  const planned = await planOwner(machine, account, paths, keyFile, record);
  if ("code" in planned) return refuse(terminal, planned);
  for (const change of describeOwner(planned.grant, planned.account)) terminal.print(change);
  for (const note of planned.notes) terminal.note(note);
  if (isDry) {
    terminal.print(NOTHING_CHANGED);
    return EXIT.ok;
  }
  await applyOwner(machine, planned.grant, record, directory);
  const failure = await restartUnit(machine, unit, "so the agent may still run as its former user");
  return showResult({ ...request, account: planned.account }, failure === null ? [] : [failure]);
}

/** Says what the user still cannot read, as the kernel answers after the grant. */
async function showResult({ terminal, machine, account, paths }: GrantRequest, problems: readonly Problem[]) {
  if (problems.length > 0) return showProblems(terminal, problems);
  const user = accountName(account);
  const accesses = await explainAccess(probeAs(account, machine.runProgram), paths);
  const unreadable = [...accesses].filter(([, { kind }]) => kind !== "readable");
  if (unreadable.length === 0)
    terminal.print(`${user} can read them now. To undo this: robot-policy-agent grant --revoke`);
  const what = `${user} still cannot read it: something other than its mode and access list denies it`;
  const fix =
    "check the mount options and security modules: findmnt -T FILE; aa-status; or use another method: --method owner";
  return showProblems(
    terminal,
    unreadable.map(([path]) => ({ code: "grant-in-vain", what, where: path, fix })),
  );
}

async function revoke({ isDry, terminal, machine, record, directory, unit }: GrantRun): Promise<ExitCode> {
  const paths = [...record.entries.map(({ path }) => path), ...(record.owner === null ? [] : [record.owner.drop_in])];
  if (paths.length === 0) terminal.print("Nothing was granted.");
  if (isDry) {
    for (const path of paths) terminal.print(`would revoke the grant on ${path}`);
    return EXIT.ok;
  }
  const { revoked, problems } = await revokeGrant(machine, record, directory);
  for (const path of revoked) terminal.print(`revoked the grant on ${path}`);
  const failure =
    record.owner === null ? null : await restartUnit(machine, unit, "so the agent may still have the access");
  return showProblems(terminal, failure === null ? problems : [...problems, failure]);
}

function showProblems(terminal: Terminal, problems: readonly Problem[]): ExitCode {
  for (const problem of problems) terminal.problem(problem);
  return problems.length === 0 ? EXIT.ok : EXIT.failed;
}

function refuse(terminal: Terminal, problem: Problem, exitCode: ExitCode = EXIT.failed): ExitCode {
  terminal.problem(problem);
  return exitCode;
}

const NOT_ROOT: Problem = {
  code: "not-root",
  what: "only root may grant rights on other people's files",
  fix: "sudo robot-policy-agent grant --dry-run shows what it would do",
};
