import { resolve } from "node:path";

import { hasProc } from "../../access/judge.ts";
import { findServiceAccount } from "../../access/account.ts";
import { readServiceUnit } from "../../access/unit.ts";
import type { Files } from "../../platform/files/files.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { FILE_LIMIT } from "../grant/grant.ts";
import { grantOnFiles } from "../grant/on-files.ts";
import { grantOnUnit } from "../grant/on-unit.ts";
import { type GrantRecord, grantRecordPath, lockGrantRecord, readGrantRecord } from "../grant/record.ts";
import { revokeGrant } from "../grant/revoke.ts";
import { type GrantOptions, type GrantRun, SCHEMA_VERSION, showGrant, showRefusal } from "../grant/run.ts";
import { planOwner, restartUnit } from "../grant/unit.ts";
import { NOTES_FOLDER } from "../layout.ts";

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

/** `grant`: gives the agent's user the least access that lets it read the robot's configuration files. */
export async function grant(options: GrantOptions, context: GrantContext, file: string | undefined): Promise<ExitCode> {
  const run: GrantRun = {
    options,
    terminal: context.terminal,
    machine: { files: context.machine.files, runProgram: systemPrograms },
    directory: context.recordDirectory ?? NOTES_FOLDER,
    unit: await readServiceUnit(context.machine.files, systemPrograms),
  };
  if (context.userId !== 0) return showRefusal(run, NOT_ROOT);
  if (!(await hasProc(context.machine.files))) return showRefusal(run, NO_PROC);
  if (options.revoke === true && file !== undefined) return showRefusal(run, WHOLE_GRANT, EXIT.usage);
  await using lock = options.dryRun === true ? null : await lockGrantRecord(run.machine.files, run.directory);
  if (lock !== null && lock.problem !== null) return showRefusal(run, lock.problem);
  const record = await readGrantRecord(run.machine.files, run.directory);
  if (record === null) return showRefusal(run, unknownRecord(run.directory));
  if (options.revoke === true) return await revoke(run, record);

  const inputs = await context.readInputs();
  if ("code" in inputs) return showRefusal(run, inputs, EXIT.invalid);
  const found = await findServiceAccount({
    ...run.machine,
    unit: run.unit,
    stateDirectory: inputs.stateDirectory,
    userId: context.userId,
  });
  if (found.kind === "absent") return showRefusal(run, noUser(found.name));
  const { account } = found;
  const paths = file === undefined ? inputs.paths : [resolve(file)];
  if (account.userId === 0) return showGrant(run, { account, paths, changes: [], applied: false, unreadable: [] });
  if (paths.length > FILE_LIMIT) return showRefusal(run, tooMany(paths.length));
  const asked = { ...run, record, account, paths, keyFile: inputs.keyFile };
  switch (options.method) {
    case "owner":
      return await grantOnUnit(asked, await planOwner(run.machine, paths));
    default:
      return await grantOnFiles(asked);
  }
}

async function revoke(run: GrantRun, record: GrantRecord): Promise<ExitCode> {
  const { options, terminal, machine, directory, unit } = run;
  const paths = [...record.entries.map(({ path }) => path), ...(record.drop_in === null ? [] : [record.drop_in.path])];
  if (options.dryRun === true) {
    if (options.json === true) terminal.json({ schema_version: SCHEMA_VERSION, would_revoke: paths });
    else if (paths.length === 0) terminal.print(NOTHING_GRANTED);
    else for (const path of paths) terminal.print(`would revoke the grant on ${path}`);
    return EXIT.ok;
  }
  const { revoked, problems: left } = await revokeGrant(machine, record, directory);
  const byHand = record.drop_in === null ? null : await restartUnit(machine, unit);
  const problems = byHand === null ? left : [...left, notApplied(byHand)];
  if (options.json === true) terminal.json({ schema_version: SCHEMA_VERSION, revoked, problems });
  else {
    for (const path of revoked) terminal.print(`revoked the grant on ${path}`);
    if (paths.length === 0) terminal.print(NOTHING_GRANTED);
  }
  for (const problem of problems) terminal.problem(problem);
  return problems.length === 0 ? EXIT.ok : EXIT.failed;
}

const NOTHING_GRANTED = "Nothing was granted.";

const NOT_ROOT: Problem = {
  code: "not-root",
  what: "only root may grant rights on other people's files",
  fix: "sudo robot-policy-agent grant --dry-run shows what it would do",
};

const WHOLE_GRANT: Problem = {
  code: "usage",
  what: "--revoke removes all granted access, not only that to some files",
  fix: "leave the file out; after that, grant the others again",
};

const NO_PROC: Problem = {
  code: "no-proc",
  what: "/proc is not mounted, so rights can be neither read nor changed",
  fix: "mount it, as in a chroot: mount -t proc proc /proc",
};

function noUser(name: string): Problem {
  return {
    code: "no-service-user",
    what: `the user ${name} does not exist yet`,
    fix: "install the agent first: robot-policy-agent install, or its package",
  };
}

function notApplied(byHand: string): Problem {
  return {
    code: "restart-failed",
    what: "systemd did not apply it, so the agent may still have the access",
    fix: byHand,
  };
}

function tooMany(count: number): Problem {
  return {
    code: "too-many-files",
    what: `${count} files are more than the ${FILE_LIMIT} that are granted at once`,
    fix: "grant some of them at a time: robot-policy-agent grant FILE",
  };
}

function unknownRecord(directory: string): Problem {
  return {
    code: "grant-record-unknown",
    what: "this version cannot read the record of what was granted",
    where: grantRecordPath(directory),
    fix: "use the version of the agent that wrote it",
  };
}
