import { EXIT } from "../../../platform/terminal.ts";
import type { ExitCode } from "../../../platform/terminal.ts";
import { backUp } from "../../kernel/store/copies/backup.ts";
import { commandMachine } from "../command-machine.ts";
import type { CommandContext } from "../serve/serve.ts";
import type { StoreFlags } from "./locate-store.ts";
import { showCopy } from "./show-copy.ts";
import { withLocation } from "./with-store.ts";

export interface CopyFlags extends StoreFlags {
  readonly json?: boolean;
}

/** `backup FILE`: everything in the store, as it is at one moment, in one file. A service on the store goes on meanwhile. */
export async function backup(flags: CopyFlags, { terminal, signal }: CommandContext, path = ""): Promise<ExitCode> {
  if (path === "" || path === "-") {
    terminal.problem({
      code: "usage",
      what: "A backup goes into a file, not to stdout.",
      fix: "Name a new file, such as robots.db; one that is called - is ./-.",
    });
    return EXIT.usage;
  }
  const machine = commandMachine();
  const onProgress = (table: string, fraction: number) => terminal.progress(`backing up ${table}`, fraction);
  return withLocation(flags, machine, terminal, async (location) => {
    const outcome = await backUp(location, path, machine, { onProgress, signal });
    return showCopy(
      outcome,
      { path, tell: (rows) => `Backed up ${rows} into ${path}`, isJson: flags.json === true },
      terminal,
    );
  });
}
