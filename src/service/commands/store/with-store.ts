import { EXIT } from "../../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../../platform/terminal.ts";
import { showFindings } from "../../kernel/edited-file.ts";
import { migrateExisting } from "../../kernel/store/migrator.ts";
import { openStore } from "../../kernel/store/open-store.ts";
import { holdsSqliteStore } from "../../kernel/store/sqlite/store.ts";
import { noStore, storeProblem } from "../../kernel/store/store-problem.ts";
import type { Store, StoreLocation, StoreMachine } from "../../kernel/store/store.ts";
import { readConfigurationFile } from "../serve/configuration-file.ts";
import { locateStore } from "./locate-store.ts";
import type { StoreFlags } from "./locate-store.ts";

/**
 * Opens the store the flags name, beside a service that may run on it, and hands it to `use`. A place without a store is not
 * made into one: its name is probably a slip.
 *
 * @returns what `use` returned; failures a person can act on are shown and have their exit code.
 */
export async function withStore(
  flags: StoreFlags,
  machine: StoreMachine,
  terminal: Terminal,
  use: (store: Store) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withLocation(flags, machine, terminal, async (location) => {
    try {
      if (location.kind === "sqlite" && !(await holdsSqliteStore(machine.files, location.data_directory))) {
        terminal.problem(noStore(location));
        return EXIT.failed;
      }
      await using store = await openStore(location, machine, migrateExisting);
      return await use(store);
    } catch (error) {
      const problem = storeProblem(error, location);
      if (problem === null) throw error;
      terminal.problem(problem);
      return EXIT.failed;
    }
  });
}

/** Hands the place the flags name to `use`, or shows what is wrong with them or with the configuration file. */
export async function withLocation(
  flags: StoreFlags,
  { files }: Pick<StoreMachine, "files">,
  terminal: Terminal,
  use: (location: StoreLocation) => Promise<ExitCode>,
): Promise<ExitCode> {
  const reading = await readConfigurationFile(flags.config, files);
  if (reading.state === "invalid") {
    showFindings(reading.file, terminal);
    return EXIT.invalid;
  }
  const located = await locateStore(flags, reading.configuration.keep, files);
  switch (located.state) {
    case "usage":
      terminal.problem(located.problem);
      return EXIT.usage;
    case "failed":
      terminal.problem(located.problem);
      return EXIT.failed;
    case "located":
      return use(located.store);
  }
}
