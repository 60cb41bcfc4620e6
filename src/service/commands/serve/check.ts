import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";

import { systemClock } from "../../../platform/clock.ts";
import { errorCode, type FileStat, systemFiles } from "../../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../../platform/terminal.ts";
import { formatListenAddress, type ListenAddress } from "../../kernel/connections/listen-address.ts";
import { readCertificatePair } from "../../kernel/connections/tls.ts";
import { showFindings } from "../../kernel/edited-file.ts";
import { readCatalogFile } from "../../models/catalog.ts";
import type { ServiceConfiguration } from "../../service.ts";
import { readConfigurationFile } from "./configuration-file.ts";
import type { ServeFlags } from "./configuration.ts";
import { listenProblem } from "../../start-problem.ts";

/**
 * `serve --check`: checks the files and the address to listen on, with the exit code of `serve`. Lists what only a start can check: the
 * store is not opened.
 */
export async function check(
  flags: ServeFlags,
  service: ServiceConfiguration,
  { terminal, userId }: { readonly terminal: Terminal; readonly userId: number },
): Promise<ExitCode> {
  const { listen, tls, modelsFile, bootstrapKeyFile, store } = service;
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
    terminal.print(`not checked: the address ${formatListenAddress(listen)}, because a program listens there now`);
  }
  if (userId === 0) terminal.print(NOT_AS_ROOT);
  return EXIT.ok;
}

/** The unit's user exists only while the service runs, so its access cannot be checked before. */
const NOT_AS_ROOT =
  "not checked as root, which can read every file: whether the unit's own user can read these files; the service checks that at each start";

/** The file with the URL, and so the password, of the database; null if none was read. */
async function urlFileOf({ config, data, database }: ServeFlags): Promise<string | null> {
  if (data !== undefined || database !== undefined) return null;
  const reading = await readConfigurationFile(config, systemFiles);
  const keep = reading.state === "read" ? reading.configuration.keep : null;
  return keep?.kind === "database-file" ? keep.urlFile : null;
}

const READABLE_BY_ALL = 0o004;

/** Access for a group may be intended, for renewed certificates for example; access for everyone is not. */
async function warnOfReadableSecrets(paths: readonly (string | null | undefined)[], terminal: Terminal): Promise<void> {
  for (const path of paths) {
    if (path === null || path === undefined) continue;
    const stat = await statOrNull(path);
    if (stat === null || (stat.mode & READABLE_BY_ALL) === 0) continue;
    terminal.warning(`every user of this computer can read ${path}; correct it: chmod o= ${path}`);
  }
}

function statOrNull(path: string): Promise<FileStat | null> {
  return systemFiles.stat(path).catch(() => null);
}

/** Whether this process can listen on an address. `taken`: a program listens there, perhaps the service itself. */
type ListenTrial =
  | { readonly state: "free" }
  | { readonly state: "taken" }
  | { readonly state: "refused"; readonly problem: Problem };

/** Listens on the address for a moment, and closes every connection. */
async function tryListen(listen: ListenAddress): Promise<ListenTrial> {
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen({ ...listen, exclusive: true });
    await once(server, "listening");
    // Fastify calls it for this address; it may fail in a sandbox.
    if (listen.host === "0.0.0.0") networkInterfaces();
    return { state: "free" };
  } catch (error) {
    if (errorCode(error) === "EADDRINUSE") return { state: "taken" };
    const problem = listenProblem(error, listen);
    if (problem === null) throw error;
    return { state: "refused", problem };
  } finally {
    server.close();
  }
}
