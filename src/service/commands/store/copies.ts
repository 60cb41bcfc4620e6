import { EXIT, type ExitCode, type Problem, type Terminal } from "../../../platform/terminal.ts";
import { backUp } from "../../kernel/store/copies/backup.ts";
import type { CopyOutcome } from "../../kernel/store/copies/copy.ts";
import { restore as restoreStore } from "../../kernel/store/copies/restore.ts";
import { describeLocation } from "../../kernel/store/store-problem.ts";
import type { CommandContext } from "../command-context.ts";
import type { CommandFlags } from "./locate-store.ts";
import { withLocation } from "./with-store.ts";

/** `backup FILE`: the whole store, as it is at one moment, in one file. A running service is not interrupted. */
export async function backup(flags: CommandFlags, { terminal, signal }: CommandContext, path = ""): Promise<ExitCode> {
  if (path === "" || path === "-") {
    terminal.problem({
      code: "usage",
      what: "a backup is written to a file, not to stdout",
      fix: "name a new file, such as robots.db; for a file called -, write ./-",
    });
    return EXIT.usage;
  }
  const onProgress = (table: string, fraction: number) => terminal.progress(`backing up ${table}`, fraction);
  return withLocation(flags, terminal, async (location, machine) => {
    const outcome = await backUp(location, path, machine, { onProgress, signal });
    return showCopy(outcome, path, (rows) => `Backed up ${rows} into ${path}`, flags, terminal);
  });
}

/** `restore FILE`: writes a backup into a new store, also of the other kind: from SQLite to PostgreSQL, for example. */
export async function restore(flags: CommandFlags, { terminal, signal }: CommandContext, path = ""): Promise<ExitCode> {
  const onProgress = (table: string, fraction: number) => terminal.progress(`restoring ${table}`, fraction);
  return withLocation(flags, terminal, async (location, machine) => {
    const outcome = await restoreStore(path, location, machine, { onProgress, signal });
    const sentence = (rows: string) =>
      `Restored ${rows} from ${path} into ${describeLocation(location)}\nKeys and robots that were revoked or removed after this backup are valid again; revoke and remove them anew.`;
    return showCopy(outcome, path, sentence, flags, terminal);
  });
}

/** @param sentence the end, from "3 rows (schema …)". */
function showCopy(
  outcome: CopyOutcome,
  path: string,
  sentence: (rows: string) => string,
  flags: CommandFlags,
  terminal: Terminal,
): ExitCode | Problem {
  terminal.progress("", 1);
  if (outcome.state === "failed") return outcome.problem;
  const { schema, rows } = outcome;
  if (flags.json === true) {
    terminal.json({ file: path, schema, rows });
    return EXIT.ok;
  }
  const filled = Object.entries(rows).filter(([, count]) => count > 0);
  const cells = filled.map(([table, count]) => [table, String(count)]);
  if (cells.length > 0) terminal.table(["table", "rows"], cells);
  const total = filled.reduce((sum, [, count]) => sum + count, 0);
  terminal.printText(sentence(`${total} ${total === 1 ? "row" : "rows"} (schema ${schema})`));
  return EXIT.ok;
}
