/** What the commands of the service share: what each is given, and the store that its flags name. */
import { systemClock } from "../../platform/clock.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files, systemFiles } from "../../platform/files/files.ts";
import type { LogStream } from "../../platform/log/log-output.ts";
import { systemRandom } from "../../platform/random.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { type ConfiguredStore, readConfigurationFile } from "../configuration/configuration.ts";
import { ENCODE_PASSWORD, parseDatabaseUrl } from "../configuration/readers.ts";
import { showFindings } from "../kernel/edited-file.ts";
import { createIds, type NewId } from "../kernel/ids.ts";
import { createLog } from "../kernel/log.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import { migrateExisting } from "../kernel/store/migrator.ts";
import { openStore } from "../kernel/store/open-store.ts";
import { holdsSqliteStore } from "../kernel/store/sqlite/store.ts";
import { hasPassword, noStore, storeProblem } from "../kernel/store/store-problem.ts";
import type { Store, StoreLocation } from "../kernel/store/store.ts";

/** What every command is given. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** For the log; other output goes to the terminal. */
  readonly stderr: LogStream;
  /** Aborted when the command is to stop. */
  readonly signal: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly processId: number;
  readonly userId: number;
  /** Calls back at each SIGHUP. */
  onHangup(callback: () => void): void;
}

/** Flags that say where data is stored: one of the first two, or a configuration file that does. */
export interface StoreFlags {
  readonly data?: string | undefined;
  readonly database?: string | undefined;
  readonly config?: string | undefined;
}

/** Flags of every command that reads or changes a store. */
export interface CommandFlags extends StoreFlags {
  readonly json?: boolean;
}

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
  const located = await locateStore(flags, reading.configuration.store, systemFiles);
  // Commands print their results; nothing is logged.
  const log = createLog("silent", { write() {} });
  const machine = { clock: systemClock, files: systemFiles, random: systemRandom, log };
  const outcome = "code" in located ? located : await use(located, machine);
  return typeof outcome === "number" ? outcome : showProblem(outcome, terminal);
}

/** @returns the exit code of the problem. */
export function showProblem(problem: Problem, terminal: Terminal): ExitCode {
  terminal.problem(problem);
  return problem.code === "usage" ? EXIT.usage : EXIT.failed;
}

/** Where data is stored: flags override the configuration file. No problem shows a URL, which may contain a password. */
export async function locateStore(
  flags: StoreFlags,
  configured: ConfiguredStore | null,
  files: Files,
): Promise<StoreLocation | Problem> {
  if (flags.data !== undefined || flags.database !== undefined || configured === null) return fromFlags(flags);
  if (configured.kind !== "postgres-file") return configured;
  const { urlFile, ...pool } = configured;
  const url = await readUrlFile(urlFile, files);
  return typeof url === "string" ? { ...pool, kind: "postgres", url } : url;
}

/** Maximum size of a file with a URL. */
const URL_FILE_BYTES = 8192;

async function readUrlFile(path: string, files: Files): Promise<string | Problem> {
  try {
    const bytes = await readBounded(files, path, URL_FILE_BYTES);
    const url = bytes === "too-large" ? "" : Buffer.from(bytes).toString("utf8").trim();
    if (parseDatabaseUrl(url) !== null) return url;
    return {
      code: "database-url-invalid",
      what: "the file does not contain the URL of a PostgreSQL database",
      where: path,
      fix: `write one line into it, such as postgres://USER:PASSWORD@HOST:5432/DATABASE; ${ENCODE_PASSWORD}`,
    };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return {
      code: "database-url-unreadable",
      what: `the file with the URL of the database cannot be read (${code})`,
      where: path,
      fix: "set database.url_file to a file that exists and that this user may read",
    };
  }
}

function fromFlags({ data = "", database }: StoreFlags): StoreLocation | Problem {
  if ((data === "") === (database === undefined)) {
    return {
      code: "usage",
      what: "the place of the data is not given, or given twice",
      fix: "give --data DIR, --database URL for PostgreSQL, or --config FILE with one of them in the file",
    };
  }
  if (database === undefined) return { kind: "sqlite", dataDirectory: data };
  if (parseDatabaseUrl(database) !== null) return { kind: "postgres", url: database };
  return {
    code: "usage",
    what: "the database is not a PostgreSQL URL",
    fix: `write for example --database postgres://USER:PASSWORD@HOST:5432/DATABASE; ${ENCODE_PASSWORD}`,
  };
}

/** A command to copy into a shell: these words, on the store that these flags name. A password in a URL is not shown. */
export function commandLine(words: string, { config, data, database }: StoreFlags): string {
  const flags = [
    ...(config === undefined ? [] : ["--config", shellWord(config)]),
    ...(data === undefined ? [] : ["--data", shellWord(data)]),
    ...(database === undefined ? [] : ["--database", shellWord(withoutPassword(database))]),
  ];
  return ["robot-policy-service", words, ...flags].join(" ");
}

function withoutPassword(url: string): string {
  const shown = URL.parse(url);
  if (shown === null || !hasPassword(shown)) return url;
  if (shown.password !== "") shown.password = "PASSWORD";
  if (shown.searchParams.has("password")) shown.searchParams.set("password", "PASSWORD");
  return shown.href;
}
