import { systemClock } from "../../../platform/clock.ts";
import { systemFiles } from "../../../platform/files/files.ts";
import { EXIT } from "../../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../../platform/terminal.ts";
import { formatListenAddress } from "../../kernel/connections/listen-address.ts";
import { readCertificatePair } from "../../kernel/connections/tls.ts";
import { showFindings } from "../../kernel/edited-file.ts";
import { readCatalogFile } from "../../models/catalog-file.ts";
import type { ServiceConfiguration } from "../../service.ts";
import { readConfigurationFile } from "./configuration-file.ts";
import type { ServeFlags } from "./configuration.ts";
import { tryListen } from "./try-listen.ts";
import { beyondReachOfUnit, UNIT_CONFIGURATION } from "./unit-reach.ts";

/**
 * `serve --check`: whether the files are good and the address can be listened on, with the exit code `serve` would have. What only a
 * start can tell is named, not tried: the store is not touched.
 */
export async function check(
  flags: ServeFlags,
  service: ServiceConfiguration,
  { terminal, user_id: userId }: { readonly terminal: Terminal; readonly user_id: number },
): Promise<ExitCode> {
  const { listen, tls, models_file: modelsFile, bootstrap_key_file: bootstrapKeyFile, store } = service;
  const checked = flags.config === undefined ? ["flags"] : ["configuration"];
  let exitCode: ExitCode = EXIT.ok;
  if (tls !== undefined && tls !== null) {
    checked.push("certificate");
    const pair = await readCertificatePair(systemFiles, tls, systemClock.wallMs());
    if (pair.state === "refused") {
      terminal.problem(pair.problem);
      exitCode = EXIT.invalid;
    }
  }
  if (modelsFile !== undefined && modelsFile !== null) {
    checked.push("models");
    const catalog = await readCatalogFile(systemFiles, modelsFile);
    if (catalog.state === "refused") {
      showFindings({ path: modelsFile, bytes: catalog.bytes, findings: catalog.findings }, terminal);
      exitCode = EXIT.invalid;
    }
  }
  await warnOfReadableSecrets([tls?.keyFile, bootstrapKeyFile, await urlFileOf(flags)], terminal);
  if (exitCode !== EXIT.ok) return exitCode;
  const trial = await tryListen(listen);
  if (trial.state === "refused") {
    terminal.problem(trial.problem);
    return EXIT.failed;
  }
  if (trial.state === "free") checked.push("address");
  const place = store.kind === "sqlite" ? "the data directory" : "the database";
  const key = typeof bootstrapKeyFile === "string" ? ", the bootstrap key" : "";
  terminal.print(`${terminal.style("good", "ok")} ${checked.join(", ")}`);
  terminal.print(`not checked: whether ${place} can be used${key}`);
  if (trial.state === "taken") {
    terminal.print(`not checked: the address ${formatListenAddress(listen)}, where a program listens now`);
  }
  if (userId === 0) {
    terminal.print(NOT_AS_ROOT);
    if (flags.config === UNIT_CONFIGURATION) await warnOfUnit(service, terminal);
  }
  return EXIT.ok;
}

/** The unit's user is there only while the service runs: before, nobody can ask in its name. */
const NOT_AS_ROOT =
  "not checked as root, who reads everything: whether the unit's own user can read these files; it checks that at each start";

/** The file with the address, and so the password, of the database; null where none was read. */
async function urlFileOf({ config, data, database }: ServeFlags): Promise<string | null> {
  if (data !== undefined || database !== undefined) return null;
  const reading = await readConfigurationFile(config, systemFiles);
  const keep = reading.state === "read" ? reading.configuration.keep : null;
  return keep?.kind === "database-file" ? keep.urlFile : null;
}

const READABLE_BY_ALL = 0o004;

/** A group may be let in on purpose, as to renewed certificates; everyone never is. */
async function warnOfReadableSecrets(paths: readonly (string | null | undefined)[], terminal: Terminal): Promise<void> {
  for (const path of paths) {
    if (path === null || path === undefined) continue;
    const stat = await systemFiles.stat(path).catch(() => null);
    if (stat === null || (stat.mode & READABLE_BY_ALL) === 0) continue;
    warn(`every user of this computer can read ${path}; mend it: chmod o= ${path}`, terminal);
  }
}

async function warnOfUnit(service: ServiceConfiguration, terminal: Terminal): Promise<void> {
  const { bootstrap_key_file: bootstrapKeyFile } = service;
  // A key that is there is read, not written.
  const hasKey = typeof bootstrapKeyFile === "string" && (await isThere(bootstrapKeyFile));
  const written = hasKey ? { ...service, bootstrap_key_file: null } : service;
  for (const text of beyondReachOfUnit(written)) warn(text, terminal);
}

async function isThere(path: string): Promise<boolean> {
  return (await systemFiles.stat(path).catch(() => null)) !== null;
}

function warn(text: string, terminal: Terminal): void {
  terminal.note(`${terminal.style("warn", "warning")}: ${text}`);
}
