import { systemClock } from "../../../platform/clock.ts";
import { systemFiles } from "../../../platform/files/files.ts";
import { systemRandom } from "../../../platform/random.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../../platform/terminal.ts";
import { showFindings } from "../../kernel/edited-file.ts";
import { createIds, type NewId } from "../../kernel/ids.ts";
import { createLog } from "../../kernel/log.ts";
import type { ServiceMachine } from "../../kernel/machine.ts";
import { migrateExisting } from "../../kernel/store/migrator.ts";
import { openStore } from "../../kernel/store/open-store.ts";
import { holdsSqliteStore } from "../../kernel/store/sqlite/store.ts";
import { noStore, storeProblem } from "../../kernel/store/store-problem.ts";
import type { Store, StoreLocation } from "../../kernel/store/store.ts";
import { readConfigurationFile } from "../serve/configuration-file.ts";
import { locateStore, type StoreFlags } from "./locate-store.ts";

/** A store that a command opened, and what it changes the store with. */
export interface OpenedStore {
  readonly store: Store;
  readonly machine: ServiceMachine;
  readonly newId: NewId;
}

/**
 * Opens the store that the flags name, also while a service runs on it. Creates no store: a place without one is probably a typing mistake.
 *
 * @returns what `use` returned; problems are shown, and have their exit code.
 */
export async function withStore(
  flags: StoreFlags,
  terminal: Terminal,
  use: (opened: OpenedStore) => Promise<ExitCode | Problem>,
): Promise<ExitCode> {
  return withLocation(flags, terminal, async (location, machine) => {
    try {
      if (location.kind === "sqlite" && !(await holdsSqliteStore(machine.files, location.dataDirectory))) {
        return noStore(location);
      }
      await using store = await openStore(location, machine, migrateExisting);
      return await use({ store, machine, newId: createIds(machine.clock, machine.random) });
    } catch (error) {
      const problem = storeProblem(error, location);
      if (problem === null) throw error;
      return problem;
    }
  });
}

/** Calls `use` with the place that the flags name. Like `withStore`, it shows problems. */
export async function withLocation(
  flags: StoreFlags,
  terminal: Terminal,
  use: (location: StoreLocation, machine: ServiceMachine) => Promise<ExitCode | Problem>,
): Promise<ExitCode> {
  const reading = await readConfigurationFile(flags.config, systemFiles);
  if (reading.state === "invalid") {
    showFindings(reading.file, terminal);
    return EXIT.invalid;
  }
  const located = await locateStore(flags, reading.configuration.keep, systemFiles);
  if (located.state === "refused") {
    terminal.problem(located.problem);
    return located.exitCode;
  }
  // Commands print their results; nothing is logged.
  const log = createLog("silent", { write() {} });
  const outcome = await use(located.store, { clock: systemClock, files: systemFiles, random: systemRandom, log });
  if (typeof outcome === "number") return outcome;
  terminal.problem(outcome);
  return EXIT.failed;
}
