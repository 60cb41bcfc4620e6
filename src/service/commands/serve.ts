import { CONSOLE_FOLDER } from "../../console/server/console-folder.ts";
import { systemClock } from "../../platform/clock.ts";
import { type Files, systemFiles } from "../../platform/files/files.ts";
import { openLogOutput } from "../../platform/log/log-output.ts";
import type { Log } from "../../platform/log/log.ts";
import { systemRandom } from "../../platform/random.ts";
import { createNotify, feedWatchdog } from "../../platform/systemd/notify.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { readConfigurationFile } from "../configuration/configuration.ts";
import { isLoopback, parseListenAddress } from "../kernel/connections/listen-address.ts";
import { readCertificatePair } from "../kernel/connections/tls.ts";
import { type FileFindings, showFindings } from "../kernel/edited-file.ts";
import { createLog } from "../kernel/log.ts";
import type { LogLevel } from "../kernel/log-level.ts";
import { describeLocation } from "../kernel/store/store-problem.ts";
import type { StoreLocation } from "../kernel/store/store.ts";
import { readCatalogFile } from "../models/catalog.ts";
import { createService, type Service, type ServiceConfiguration } from "../service.ts";
import { type CommandContext, locateStore, showProblem, type StoreFlags } from "./command.ts";

/** Flags of `serve`; each overrides the configuration file. */
interface ServeFlags extends StoreFlags {
  /** `HOST:PORT`; an IPv6 host in brackets. */
  readonly listen?: string | undefined;
  readonly bootstrapKeyFile?: string | undefined;
  readonly models?: string | undefined;
  /** False by `--no-rate-limit`. */
  readonly rateLimit?: boolean;
  readonly logLevel?: LogLevel | undefined;
  /** Read the files, report problems, and exit. */
  readonly check?: boolean;
}

interface ServeConfiguration {
  readonly service: ServiceConfiguration;
  readonly logLevel: LogLevel;
  /** Files that hold a key or a password. */
  readonly secretFiles: readonly string[];
}

type ServeReading =
  | { readonly state: "read"; readonly configuration: ServeConfiguration; readonly warnings: FileFindings | null }
  | { readonly state: "refused"; readonly problem: Problem }
  | { readonly state: "invalid"; readonly file: FileFindings };

/**
 * Runs the service until it is stopped. Prints `{"event":"listening","url":…}` on one line of stdout once it accepts requests; logs to
 * stderr. On SIGHUP it reads the TLS files and the models again.
 */
export async function serve(flags: ServeFlags, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const reading = await readServeConfiguration(flags, systemFiles);
  switch (reading.state) {
    case "refused":
      return showProblem(reading.problem, terminal);
    case "invalid":
      showFindings(reading.file, terminal);
      return EXIT.invalid;
    case "read":
      if (reading.warnings !== null) showFindings(reading.warnings, terminal);
      return flags.check === true ? check(reading.configuration, context) : run(reading.configuration, context);
  }
}

/** Reads the configuration file, if one is named, and the flags. */
async function readServeConfiguration(flags: ServeFlags, files: Files): Promise<ServeReading> {
  const listen = flags.listen === undefined ? undefined : parseListenAddress(flags.listen);
  if (listen === null) return { state: "refused", problem: notAnAddress(flags.listen ?? "") };
  const reading = await readConfigurationFile(flags.config, files);
  if (reading.state === "invalid") return reading;
  const { configuration, warnings } = reading;
  const store = await locateStore(flags, configuration.store, files);
  if ("code" in store) return { state: "refused", problem: store };
  const { rate_limit: rateLimit, tls, store: configured } = configuration;
  const bootstrapKeyFile = flags.bootstrapKeyFile ?? configuration.bootstrap_key_file;
  const isUrlRead = flags.data === undefined && flags.database === undefined && configured?.kind === "postgres-file";
  return {
    state: "read",
    warnings,
    configuration: {
      logLevel: flags.logLevel ?? configuration.log.level,
      secretFiles: [
        ...(tls === null ? [] : [tls.keyFile]),
        ...(bootstrapKeyFile === null ? [] : [bootstrapKeyFile]),
        ...(isUrlRead ? [configured.urlFile] : []),
      ],
      service: {
        store,
        listen: listen ?? configuration.listen,
        tls,
        trustedProxies: configuration.trusted_proxies,
        bootstrapKeyFile,
        modelsFile: flags.models ?? configuration.models,
        rateLimit: flags.rateLimit === false || rateLimit === "off" ? null : rateLimit,
        metrics: configuration.metrics,
        consoleFolder: configuration.console ? CONSOLE_FOLDER : null,
        logRequests: configuration.log.requests,
        auditRetentionDays: configuration.audit.retention_days,
        limits: configuration.limits,
        identity: configuration.identity,
        webhooks: configuration.webhooks,
      },
    },
  };
}

function notAnAddress(listen: string): Problem {
  return {
    code: "usage",
    what: "the address to listen on is not HOST:PORT",
    where: `--listen ${listen}`,
    fix: "write for example --listen 127.0.0.1:8080 or --listen '[::1]:8080'; port 0 means any free port",
  };
}

/** `serve --check`: checks the files, with the exit code of `serve`, and lists what only a start can check. */
async function check(
  { service, secretFiles }: ServeConfiguration,
  { terminal, userId }: CommandContext,
): Promise<ExitCode> {
  const { tls = null, modelsFile = null } = service;
  const checked = ["configuration"];
  let exitCode: ExitCode = EXIT.ok;
  if (tls !== null) {
    checked.push("certificate");
    const pair = await readCertificatePair(systemFiles, tls, systemClock.wallMs());
    if (pair.state === "refused") {
      terminal.problem(pair.problem);
      exitCode = EXIT.invalid;
    }
  }
  if (modelsFile !== null) {
    checked.push("models");
    const catalog = await readCatalogFile(systemFiles, modelsFile);
    if (catalog.state === "refused") {
      showFindings({ path: modelsFile, bytes: catalog.bytes, findings: catalog.findings }, terminal);
      exitCode = EXIT.invalid;
    }
  }
  await warnOfReadableSecrets(secretFiles, terminal);
  if (exitCode !== EXIT.ok) return exitCode;
  terminal.print(`${terminal.style("good", "ok")} ${checked.join(", ")}`);
  terminal.print("not checked: the address, the store, the bootstrap key");
  if (userId === 0) terminal.print(NOT_AS_ROOT);
  return EXIT.ok;
}

/** The unit's user exists only while the service runs, so its access cannot be checked before. */
const NOT_AS_ROOT =
  "not checked as root, which can read every file: whether the unit's own user can read these files; the service checks that at each start";

const READABLE_BY_ALL = 0o004;

/** Access for a group may be intended, for renewed certificates for example; access for everyone is not. */
async function warnOfReadableSecrets(paths: readonly string[], terminal: Terminal): Promise<void> {
  for (const path of paths) {
    const stat = await systemFiles.stat(path).catch(() => null);
    if (stat === null || (stat.mode & READABLE_BY_ALL) === 0) continue;
    terminal.warning(`every user of this computer can read ${path}; correct it: chmod o= ${path}`);
  }
}

async function run(
  { service: configuration, logLevel }: ServeConfiguration,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const output = openLogOutput(context, (lines) => log.warn("log_lines_dropped", { lines }));
  const log: Log = createLog(logLevel, output);
  const machine = { clock: systemClock, files: systemFiles, random: systemRandom, log };
  await using service = createService({ ...configuration, store: withThreads(configuration.store) }, machine);
  const started = await service.start();
  if (started.state === "failed") {
    const { problem, findings, isInvalid } = started;
    if (findings !== undefined) await showFindingsOf(problem.where ?? "", findings, terminal);
    terminal.problem(problem);
    return isInvalid === true ? EXIT.invalid : EXIT.failed;
  }
  const { url } = started;
  warnOfPlainHttp(configuration, url, log);
  log.info("listening", { url, store: describeLocation(configuration.store) });
  terminal.print(JSON.stringify({ event: "listening", url }));
  await untilStopped(service, log, url, context);
  log.info("stopping");
  // Not at the end of the block, so that "stopped" is the last line of the log.
  await service[Symbol.asyncDispose]();
  log.info("stopped");
  return EXIT.ok;
}

/** With two, a long query does not delay other queries. */
const READER_THREADS = 2;

/** With threads, a long query, a lock or a slow disk does not delay other requests. */
function withThreads(store: StoreLocation): StoreLocation {
  return store.kind === "sqlite" ? { ...store, readerThreads: READER_THREADS } : store;
}

async function untilStopped(service: Service, log: Log, url: string, context: CommandContext): Promise<void> {
  const { environment, processId, signal } = context;
  const notify = createNotify(environment, processId);
  notify.ready(`Listening on ${url}`);
  context.onHangup(() => {
    log.info("reload", { by: "SIGHUP" });
    service.reload().catch((error: unknown) => log.error("reload_failed", { error: String(error) }));
  });
  void feedWatchdog(notify, systemClock, signal);
  await aborted(signal);
  notify.stopping();
}

/** Keys would cross the network for anyone to read; that a trusted proxy is named says that one stands in front. */
function warnOfPlainHttp({ listen, tls, trustedProxies }: ServiceConfiguration, url: string, log: Log): void {
  if ((tls ?? null) !== null || isLoopback(listen) || (trustedProxies ?? []).length > 0) return;
  const fix = "give it a certificate (tls), or put a proxy that speaks TLS in front and name it in trusted_proxies";
  log.warn("listening_without_tls", { url, fix });
}

async function showFindingsOf(path: string, findings: FileFindings["findings"], terminal: Terminal): Promise<void> {
  const reading = await readCatalogFile(systemFiles, path);
  const bytes = reading.state === "read" ? reading.file.bytes : reading.bytes;
  showFindings({ path, bytes, findings }, terminal);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
