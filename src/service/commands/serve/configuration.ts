import { CONSOLE_FOLDER } from "../../../console/server/console-folder.ts";
import type { Files } from "../../../platform/files/files.ts";
import { EXIT } from "../../../platform/terminal.ts";
import { parseListenAddress } from "../../kernel/connections/listen-address.ts";
import type { FileFindings } from "../../kernel/edited-file.ts";
import type { LogLevel } from "../../kernel/log-level.ts";
import type { ServiceConfiguration } from "../../service.ts";
import { locateStore, type Refused, type StoreFlags } from "../store/locate-store.ts";
import { readConfigurationFile } from "./configuration-file.ts";

/** Flags of `serve`; each overrides the configuration file. */
export interface ServeFlags extends StoreFlags {
  /** `HOST:PORT`; an IPv6 host in brackets. */
  readonly listen?: string | undefined;
  readonly bootstrapKeyFile?: string | undefined;
  readonly models?: string | undefined;
  /** False by `--no-rate-limit`. */
  readonly rateLimit?: boolean;
  readonly logLevel?: LogLevel | undefined;
}

export interface ServeConfiguration {
  readonly service: ServiceConfiguration;
  readonly logLevel: LogLevel;
}

export type ServeReading =
  | { readonly state: "read"; readonly configuration: ServeConfiguration; readonly warnings: FileFindings | null }
  | Refused
  | { readonly state: "invalid"; readonly file: FileFindings };

/** Reads the configuration file, if one is named, and the flags. */
export async function readServeConfiguration(flags: ServeFlags, files: Files): Promise<ServeReading> {
  const listen = flags.listen === undefined ? undefined : parseListenAddress(flags.listen);
  if (listen === null) return notAnAddress(flags.listen ?? "");
  const reading = await readConfigurationFile(flags.config, files);
  if (reading.state === "invalid") return reading;
  const { configuration, warnings } = reading;
  const location = await locateStore(flags, configuration.keep, files);
  if (location.state !== "located") return location;
  const { audit, rate_limit: rateLimit } = configuration;
  return {
    state: "read",
    warnings,
    configuration: {
      logLevel: flags.logLevel ?? configuration.log.level,
      service: {
        store: location.store,
        listen: listen ?? configuration.listen,
        tls: configuration.tls,
        trustedProxies: configuration.trusted_proxies,
        bootstrapKeyFile: flags.bootstrapKeyFile ?? configuration.bootstrap_key_file,
        modelsFile: flags.models ?? configuration.models,
        rateLimit: flags.rateLimit === false || rateLimit === "off" ? null : rateLimit,
        metrics: configuration.metrics,
        consoleFolder: configuration.console ? CONSOLE_FOLDER : null,
        logRequests: configuration.log.requests,
        auditRetentionDays: audit === "off" ? null : audit,
        limits: configuration.limits,
        identity: configuration.identity,
        webhooks: configuration.webhooks,
      },
    },
  };
}

function notAnAddress(listen: string): Refused {
  const problem = {
    code: "usage",
    what: "the address to listen on is not HOST:PORT",
    where: `--listen ${listen}`,
    fix: "write for example --listen 127.0.0.1:8080 or --listen '[::1]:8080'; port 0 means any free port",
  };
  return { state: "refused", problem, exitCode: EXIT.usage };
}
