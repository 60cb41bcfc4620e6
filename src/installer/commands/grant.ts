import { resolve } from "node:path";

import { explainAccess, hasProc, probeAs } from "../../access/access.ts";
import { type Account, accountName, findServiceAccount } from "../../access/account.ts";
import { OpenEntries } from "../../access/open-path.ts";
import { type FoundUnit, readServiceUnit } from "../../access/unit.ts";
import type { Files } from "../../platform/files/files.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { applyLists, revokeGrant } from "../grant/apply.ts";
import { applyOwner, describeOwner, planOwner, restartUnit } from "../grant/owner.ts";
import { describeStep, planLists } from "../grant/plan.ts";
import {
  type GrantMachine,
  type GrantRecord,
  grantRecordPath,
  lockGrantRecord,
  readGrantRecord,
} from "../grant/record.ts";
import { NOTES_FOLDER } from "../layout.ts";

export interface GrantOptions {
  readonly method?: string;
  readonly dryRun?: boolean;
  readonly revoke?: boolean;
  readonly json?: boolean;
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
  readonly options: GrantOptions;
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

/** `grant`: gives the agent's user the least access that lets it read the robot's configuration files. */
export async function grant(options: GrantOptions, context: GrantContext, file: string | undefined): Promise<ExitCode> {
  const { terminal, userId } = context;
  const machine: GrantMachine = { files: context.machine.files, runProgram: systemPrograms };
  const directory = context.recordDirectory ?? NOTES_FOLDER;
  if (userId !== 0) return refuse(options, terminal, NOT_ROOT);
  if (!(await hasProc(machine.files))) return refuse(options, terminal, NO_PROC);
  if (options.revoke === true && file !== undefined) return refuse(options, terminal, WHOLE_GRANT, EXIT.usage);
  await using lock = options.dryRun === true ? null : await lockGrantRecord(machine.files, directory);
  if (lock !== null && lock.problem !== null) return refuse(options, terminal, lock.problem);
  const record = await readGrantRecord(machine.files, directory);
  if (record === null) {
    const what = "this version cannot read the record of what was granted";
    const fix = "use the version of the agent that wrote it";
    return refuse(options, terminal, { code: "grant-record-unknown", what, where: grantRecordPath(directory), fix });
  }
  const unit = await readServiceUnit(machine.files, machine.runProgram);
  const run: GrantRun = { options, terminal, machine, directory, unit, record };
  if (options.revoke === true) return await revoke(run);

  const inputs = await context.readInputs();
  if ("code" in inputs) return refuse(options, terminal, inputs, EXIT.invalid);
  const found = await findServiceAccount({ ...machine, unit, stateDirectory: inputs.stateDirectory, userId });
  if (found.kind === "absent") {
    const fix = "install the agent first: robot-policy-agent install, or its package";
    return refuse(options, terminal, {
      code: "no-service-user",
      what: `the user ${found.name} does not exist yet`,
      fix,
    });
  }
  const paths = file === undefined ? inputs.paths : [resolve(file)];
  const request: GrantRequest = { ...run, account: found.account, paths, keyFile: inputs.keyFile };
  if (found.account.userId === 0) return showGrant(request, NOTHING_TO_GRANT, false);
  return options.method === "owner" ? await grantAsOwner(request) : await grantByLists(request);
}

/** `--method acl`: rights by the access lists of files and folders. */
async function grantByLists(request: GrantRequest): Promise<ExitCode> {
  const { machine, account, paths, record, directory, options, unit } = request;
  await using opened = new OpenEntries();
  const { steps, problems, notes } = await planLists(machine.runProgram, account, paths, record, opened);
  const changes = steps.map((step) => describeStep(step, account));
  const plan = { ...NOTHING_TO_GRANT, changes, problems, notes };
  showPlan(request, plan);
  if (options.dryRun === true || steps.length === 0) return showGrant(request, plan, false);
  const failure = await applyLists(machine, account, steps, record, directory);
  // A reload makes the agent read the files now instead of at the next resync. Whether it succeeds does not matter here.
  if (unit.kind === "unit" && unit.unit.activeState === "active")
    await machine.runProgram(["systemctl", "reload", "robot-policy-agent.service"], { limitMs: RELOAD_LIMIT_MS });
  const unreadable = await stillUnreadable(request);
  const result = { ...plan, problems: failure === null ? problems : [...problems, failure], unreadable };
  return showGrant(request, result, failure === null);
}

const RELOAD_LIMIT_MS = 15_000;

async function grantAsOwner(request: GrantRequest): Promise<ExitCode> {
  const { machine, account, paths, keyFile, record, directory, options, terminal, unit } = request;
  const planned = await planOwner(machine, account, paths, keyFile, record);
  if (planned.kind === "refused") return refuse(options, terminal, planned.problem);
  const asOwner = { ...request, account: planned.account };
  const plan = { ...NOTHING_TO_GRANT, changes: describeOwner(planned.grant, planned.account), notes: planned.notes };
  showPlan(asOwner, plan);
  if (options.dryRun === true) return showGrant(asOwner, plan, false);
  await applyOwner(machine, planned.grant, record, directory);
  const byHand = await restartUnit(machine, unit);
  const problems = byHand === null ? [] : [notApplied(byHand, "so the agent may still run as its former user")];
  return showGrant(asOwner, { ...plan, problems, unreadable: await stillUnreadable(asOwner) }, true);
}

/** The paths that the user still cannot read after the grant. */
async function stillUnreadable({ machine, account, paths }: GrantRequest): Promise<readonly string[]> {
  const accesses = await explainAccess(probeAs(account, machine.runProgram), paths);
  return [...accesses].flatMap(([path, { kind }]) => (kind === "readable" ? [] : [path]));
}

interface GrantResult {
  readonly changes: readonly { readonly path: string; readonly what: string; readonly command: string }[];
  /** Paths that the user still cannot read, as the kernel answers after the grant. */
  readonly unreadable: readonly string[];
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
}

const NOTHING_TO_GRANT: GrantResult = { changes: [], unreadable: [], problems: [], notes: [] };
/** Of `grant --json`. */
const SCHEMA_VERSION = 1;

function showPlan({ options, terminal }: GrantRequest, { changes, notes }: GrantResult): void {
  if (options.json === true) return;
  for (const { path, what } of changes) terminal.print(`${path}: ${what}`);
  for (const note of notes) terminal.note(note);
}

function showGrant({ options, terminal, account, paths }: GrantRequest, result: GrantResult, applied: boolean) {
  const { changes, unreadable, problems } = result;
  const user = accountName(account);
  if (options.json === true) {
    const asked = { user: { name: account.name, user_id: account.userId }, files: paths };
    terminal.json({ schema_version: SCHEMA_VERSION, ...asked, applied, ...result });
  } else if (changes.length === 0 && problems.length === 0) {
    const what = paths.length === 1 ? "the file" : `all ${paths.length} files`;
    terminal.print(`${user} can read ${what}: nothing to grant.`);
  } else if (options.dryRun === true) {
    terminal.print("Nothing was changed. Run it without --dry-run to apply this; grant --revoke undoes it.");
  } else if (applied && problems.length === 0 && unreadable.length === 0) {
    terminal.print(`${user} can read them now. To undo this: robot-policy-agent grant --revoke`);
  }
  for (const problem of problems) terminal.problem(problem);
  for (const path of problems.length > 0 ? [] : unreadable) {
    terminal.problem({
      code: "grant-in-vain",
      what: `${user} still cannot read it: something other than its mode and access list denies it`,
      where: path,
      fix: "check the mount options and security modules: findmnt -T FILE; aa-status; or use another method: --method owner",
    });
  }
  return problems.length === 0 && unreadable.length === 0 ? EXIT.ok : EXIT.failed;
}

async function revoke({ options, terminal, machine, record, directory, unit }: GrantRun): Promise<ExitCode> {
  const paths = [...record.entries.map(({ path }) => path), ...(record.owner === null ? [] : [record.owner.drop_in])];
  if (options.json !== true && paths.length === 0) terminal.print("Nothing was granted.");
  if (options.dryRun === true) {
    if (options.json === true) terminal.json({ schema_version: SCHEMA_VERSION, would_revoke: paths });
    else for (const path of paths) terminal.print(`would revoke the grant on ${path}`);
    return EXIT.ok;
  }
  const { revoked, problems: left } = await revokeGrant(machine, record, directory);
  const byHand = record.owner === null ? null : await restartUnit(machine, unit);
  const problems = byHand === null ? left : [...left, notApplied(byHand, "so the agent may still have the access")];
  if (options.json === true) terminal.json({ schema_version: SCHEMA_VERSION, revoked, problems });
  else for (const path of revoked) terminal.print(`revoked the grant on ${path}`);
  for (const problem of problems) terminal.problem(problem);
  return problems.length === 0 ? EXIT.ok : EXIT.failed;
}

function refuse(
  options: GrantOptions,
  terminal: Terminal,
  problem: Problem,
  exitCode: ExitCode = EXIT.failed,
): ExitCode {
  if (options.json === true) terminal.json({ schema_version: SCHEMA_VERSION, applied: false, problem });
  terminal.problem(problem);
  return exitCode;
}

const NOT_ROOT: Problem = {
  code: "not-root",
  what: "only root may grant rights on other people's files",
  fix: "sudo robot-policy-agent grant --dry-run shows what it would do",
};

const NO_PROC: Problem = {
  code: "no-proc",
  what: "/proc is not mounted, so rights can be neither read nor changed",
  fix: "mount it, as in a chroot: mount -t proc proc /proc",
};

const WHOLE_GRANT: Problem = {
  code: "usage",
  what: "--revoke removes all granted access, not only that to some files",
  fix: "leave the file out; after that, grant the others again",
};

function notApplied(byHand: string, consequence: string): Problem {
  return { code: "restart-failed", what: `systemd did not apply it, ${consequence}`, fix: byHand };
}
