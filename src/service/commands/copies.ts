import { join } from "node:path";

import { isoTime } from "../../platform/clock.ts";
import { removeIfPresent } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { backUp, type CopyOutcome, noteBackup } from "../kernel/store/backups/backup.ts";
import { restore as restoreStore } from "../kernel/store/backups/restore.ts";
import { describeLocation } from "../kernel/store/store-problem.ts";
import { systemReason } from "../kernel/system-reason.ts";
import { type CommandContext, type CommandFlags, showProblem, withLocation } from "./command.ts";

interface BackupFlags extends CommandFlags {
  /** How many backups of the folder to keep. */
  readonly keep?: string | undefined;
}

/**
 * `backup FILE`: the whole store of a data directory, as it is at one moment, in one file. A running service is not interrupted. With
 * `--keep` the argument is a folder, in which the backup is named by its time, and older ones are removed.
 */
export async function backup(flags: BackupFlags, { terminal }: CommandContext, place = ""): Promise<ExitCode> {
  const keep = flags.keep === undefined ? null : Number(flags.keep);
  const problem = refuseBackup(place, keep);
  if (problem !== null) return showProblem(problem, terminal);
  return withLocation(flags, terminal, async (location, machine) => {
    const at = isoTime(machine.clock.wallMs());
    const path = keep === null ? place : join(place, backupName(at));
    const outcome = await backUp(location, path, machine);
    if (outcome.state === "copied" && location.kind === "sqlite") {
      try {
        await noteBackup(machine.files, location.dataDirectory, at);
        if (keep !== null) await removeOlder(machine.files, place, keep);
      } catch (error) {
        return notTidied(error, path);
      }
    }
    return showCopy(outcome, path, `Backed up ${describeLocation(location)} into ${path}`, flags, terminal);
  });
}

/** The most backups that a folder keeps. */
const KEEP_MAXIMUM = 10_000;

function refuseBackup(place: string, keep: number | null): Problem | null {
  if (place === "" || place === "-") {
    return {
      code: "usage",
      what: "a backup is written to a file, not to stdout",
      fix: "name a new file, such as robots.db; for a file called -, write ./-",
    };
  }
  if (keep === null || (Number.isInteger(keep) && keep >= 1 && keep <= KEEP_MAXIMUM)) return null;
  return {
    code: "usage",
    what: "--keep is the number of backups to keep",
    fix: `give a whole number from 1 to ${KEEP_MAXIMUM}`,
  };
}

/** Without colons, which some file systems do not take. In the order of names the last is the newest. */
function backupName(at: string): string {
  return `robot-policy-${at.replaceAll(":", "").replace(/\.\d+/, "")}.db`;
}

const BACKUP_NAME = /^robot-policy-\d{4}-\d\d-\d\dT\d{6}Z\.db(?:\.new)?$/;

/** Removes what is older than the backups to keep. A backup that was interrupted is empty, or ends in `.new`, and does not count. */
async function removeOlder(files: Files, folder: string, keep: number): Promise<void> {
  const names = (await files.list(folder)).filter((name) => BACKUP_NAME.test(name)).toSorted();
  const complete: string[] = [];
  for (const name of names) {
    if (name.endsWith(".db") && (await files.stat(join(folder, name))).sizeBytes > 0) complete.push(name);
  }
  const oldest = complete.at(-keep) ?? "";
  for (const name of names) {
    if (name < oldest) await removeIfPresent(files, join(folder, name));
  }
}

function notTidied(error: unknown, path: string): Problem {
  if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
  return {
    code: "backup-not-noted",
    what: `the backup is complete, but its time could not be noted, or older ones not be removed: ${systemReason(error)}`,
    where: path,
    fix: "run this as root, or as the user who owns the data directory and the folder of the backups",
  };
}

/** `restore FILE`: puts a backup into a new data directory or an empty database. */
export async function restore(flags: CommandFlags, { terminal, signal }: CommandContext, path = ""): Promise<ExitCode> {
  const onProgress = (table: string, fraction: number) => terminal.progress(`restoring ${table}`, fraction);
  return withLocation(flags, terminal, async (location, machine) => {
    const outcome = await restoreStore(path, location, machine, { onProgress, signal });
    terminal.progress("", 1);
    const sentence = `Restored ${path} into ${describeLocation(location)}\nKeys and robots that were revoked or removed after this backup are valid again; revoke and remove them anew.`;
    return showCopy(outcome, path, sentence, flags, terminal);
  });
}

function showCopy(
  outcome: CopyOutcome,
  path: string,
  sentence: string,
  flags: CommandFlags,
  terminal: Terminal,
): ExitCode | Problem {
  if (outcome.state === "failed") return outcome.problem;
  if (flags.json === true) terminal.json({ file: path, schema: outcome.schema });
  else terminal.printText(sentence);
  return EXIT.ok;
}
