import { CONSOLE_FOLDER } from "../../../console/server/console-folder.ts";
import type { Files } from "../../../platform/files/files.ts";
import type { Problem } from "../../../platform/terminal.ts";
import { parseListenAddress } from "../../kernel/connections/listen-address.ts";
import type { FileFindings } from "../../kernel/edited-file.ts";
import type { LogLevel } from "../../kernel/log-level.ts";
import type { ServiceConfiguration } from "../../service.ts";
import { locateStore } from "../store/locate-store.ts";
import type { StoreFlags } from "../store/locate-store.ts";
import { readConfigurationFile } from "./configuration-file.ts";

/** Flags of `serve`; each wins over what the configuration file says. */
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
  | { readonly state: "usage"; readonly problem: Problem }
  | { readonly state: "failed"; readonly problem: Problem }
  | { readonly state: "invalid"; readonly file: FileFindings };

/** What the service is to do, from its configuration file, where one is named, and the flags. */
export async function readServeConfiguration(flags: ServeFlags, files: Files): Promise<ServeReading> {
  const listen = flags.listen === undefined ? undefined : parseListenAddress(flags.listen);
  if (listen === null) return { state: "usage", problem: notAnAddress(flags.listen ?? "") };
  const reading = await readConfigurationFile(flags.config, files);
  if (reading.state === "invalid") return reading;
  const { configuration, warnings } = reading;
  const location = await locateStore(flags, configuration.keep, files);
  if (location.state !== "located") return location;
  return {
    state: "read",
    warnings,
    configuration: {
      logLevel: flags.logLevel ?? configuration.log.level,
      service: {
        store: location.store,
        listen: listen ?? configuration.listen,
        tls: configuration.tls,
        trustedProxies: configuration.trustedProxies,
        bootstrap_key_file: flags.bootstrapKeyFile ?? configuration.bootstrapKeyFile,
        models_file: flags.models ?? configuration.models,
        rateLimit: flags.rateLimit === false ? null : configuration.rateLimit,
        metrics: configuration.metrics,
        consoleFolder: configuration.console ? CONSOLE_FOLDER : null,
        logRequests: configuration.log.requests,
        auditRetentionDays: configuration.auditRetentionDays,
        limits: configuration.limits,
      },
    },
  };
}

function notAnAddress(listen: string): Problem {
  return {
    code: "usage",
    what: "The address to listen on is not HOST:PORT.",
    where: `--listen ${listen}`,
    fix: "Write for example --listen 127.0.0.1:8080 or --listen '[::1]:8080'; port 0 takes any free one.",
  };
}
