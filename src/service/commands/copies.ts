import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { backUp, type CopyOutcome } from "../kernel/store/backups/backup.ts";
import { restore as restoreStore } from "../kernel/store/backups/restore.ts";
import { describeLocation } from "../kernel/store/store-problem.ts";
import { type CommandContext, type CommandFlags, withLocation } from "./command.ts";

/** `backup FILE`: the whole store of a data directory, as it is at one moment, in one file. A running service is not interrupted. */
export async function backup(flags: CommandFlags, { terminal }: CommandContext, path = ""): Promise<ExitCode> {
  if (path === "" || path === "-") {
    terminal.problem({
      code: "usage",
      what: "a backup is written to a file, not to stdout",
      fix: "name a new file, such as robots.db; for a file called -, write ./-",
    });
    return EXIT.usage;
  }
  return withLocation(flags, terminal, async (location, machine) => {
    const outcome = await backUp(location, path, machine);
    return showCopy(outcome, path, `Backed up ${describeLocation(location)} into ${path}`, flags, terminal);
  });
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
