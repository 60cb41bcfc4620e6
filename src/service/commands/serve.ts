import { destination } from "pino";

import { systemClock } from "../../platform/clock.ts";
import { systemFiles } from "../../platform/files.ts";
import { systemRandom } from "../../platform/random.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { createLog } from "../log.ts";
import type { LogLevel } from "../log-level.ts";
import { createService } from "../service.ts";

export interface ServeOptions {
  readonly data: string;
  /** `HOST:PORT`; an IPv6 host in brackets. */
  readonly listen: string;
  readonly bootstrapKeyFile?: string | undefined;
  readonly logLevel: LogLevel;
}

/** What every command is given: who it speaks to, and when it is to stop. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

const STANDARD_ERROR = 2;
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/**
 * Runs the service until it is told to stop. Prints `{"event":"listening","url":…}` on one line of stdout once it accepts
 * requests; everything else it has to say is in the log on stderr.
 */
export async function serve(options: ServeOptions, { terminal, signal }: CommandContext): Promise<ExitCode> {
  const listen = parseListen(options.listen);
  if (listen === null) {
    terminal.problem({
      code: "usage",
      what: "The address to listen on is not HOST:PORT.",
      where: `--listen ${options.listen}`,
      fix: "Write for example --listen 127.0.0.1:8080 or --listen '[::1]:8080'; port 0 takes any free one.",
    });
    return EXIT.usage;
  }
  const log = createLog(options.logLevel, destination({ fd: STANDARD_ERROR, sync: true }));
  const configuration = {
    data_directory: options.data,
    listen,
    bootstrap_key_file: options.bootstrapKeyFile ?? null,
  };
  await using service = createService(configuration, {
    clock: systemClock,
    files: systemFiles,
    random: systemRandom,
    log,
  });
  const started = await service.start();
  if (started.state === "failed") {
    terminal.problem(started.problem);
    return EXIT.failed;
  }
  if (!LOOPBACK.test(listen.host)) {
    log.warn("listening_without_tls", { url: started.url, fix: "Put a proxy that speaks TLS in front of it." });
  }
  log.info("listening", { url: started.url, data_directory: options.data });
  terminal.print(JSON.stringify({ event: "listening", url: started.url }));
  await aborted(signal);
  log.info("stopping");
  return EXIT.ok;
}

function parseListen(text: string): { readonly host: string; readonly port: number } | null {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65_535 ? null : { host, port };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
