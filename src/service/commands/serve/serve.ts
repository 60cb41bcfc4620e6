import { systemClock } from "../../../platform/clock.ts";
import { systemFiles } from "../../../platform/files/files.ts";
import { openLogOutput } from "../../../platform/log/log-output.ts";
import type { Log } from "../../../platform/log/log.ts";
import { systemRandom } from "../../../platform/random.ts";
import { createNotify, feedWatchdog } from "../../../platform/systemd/notify.ts";
import { EXIT, type ExitCode, type Terminal } from "../../../platform/terminal.ts";
import { isLoopback } from "../../kernel/connections/listen-address.ts";
import { type FileFindings, showFindings } from "../../kernel/edited-file.ts";
import { createLog } from "../../kernel/log.ts";
import { describeLocation } from "../../kernel/store/store-problem.ts";
import type { StoreLocation } from "../../kernel/store/store.ts";
import { readCatalogFile } from "../../models/catalog.ts";
import { createService, type Service, type ServiceConfiguration } from "../../service.ts";
import type { CommandContext } from "../command-context.ts";
import { check } from "./check.ts";
import { readServeConfiguration, type ServeConfiguration, type ServeFlags } from "./configuration.ts";

/** With two, a long query does not delay other queries. */
const READER_THREADS = 2;

export interface ServeOptions extends ServeFlags {
  /** Read the files, report problems, and exit. */
  readonly check?: boolean;
}

/**
 * Runs the service until it is stopped. Prints `{"event":"listening","url":…}` on one line of stdout once it accepts requests; logs to
 * stderr. On SIGHUP it reads the TLS files and the models again.
 */
export async function serve(options: ServeOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const reading = await readServeConfiguration(options, systemFiles);
  switch (reading.state) {
    case "refused":
      terminal.problem(reading.problem);
      return reading.exitCode;
    case "invalid":
      showFindings(reading.file, terminal);
      return EXIT.invalid;
    case "read":
      if (reading.warnings !== null) showFindings(reading.warnings, terminal);
      return options.check === true
        ? check(options, reading.configuration.service, context)
        : run(reading.configuration, context);
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
