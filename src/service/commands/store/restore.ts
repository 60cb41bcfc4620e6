import type { ExitCode } from "../../../platform/terminal.ts";
import { restore as restoreStore } from "../../kernel/store/copies/restore.ts";
import { describeLocation } from "../../kernel/store/store-problem.ts";
import { commandMachine } from "../command-machine.ts";
import type { CommandContext } from "../serve/serve.ts";
import type { CopyFlags } from "./backup.ts";
import { showCopy } from "./show-copy.ts";
import { withLocation } from "./with-store.ts";

/** `restore FILE`: puts a backup into a new store, on either database; so a lab moves from SQLite to PostgreSQL. */
export async function restore(flags: CopyFlags, { terminal, signal }: CommandContext, path = ""): Promise<ExitCode> {
  const machine = commandMachine();
  const onProgress = (table: string, fraction: number) => terminal.progress(`restoring ${table}`, fraction);
  return withLocation(flags, machine, terminal, async (location) => {
    const outcome = await restoreStore(path, location, machine, { onProgress, signal });
    const tell = (rows: string) => `Restored ${rows} from ${path} into ${describeLocation(location)}`;
    return showCopy(outcome, { path, tell, isJson: flags.json === true }, terminal);
  });
}
