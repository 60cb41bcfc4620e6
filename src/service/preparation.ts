import type { Finding } from "../documents/findings.ts";
import { errorCode } from "../platform/files/files.ts";
import type { Problem } from "../platform/terminal.ts";
import { formatListenAddress, type ListenAddress } from "./kernel/connections/listen-address.ts";
import { type CertificatePair, readCertificatePair, type TlsFiles } from "./kernel/connections/tls.ts";
import type { ServiceMachine } from "./kernel/machine.ts";
import type { OperationContext } from "./kernel/operation.ts";
import { openStore } from "./kernel/store/open-store.ts";
import { lockDirectory } from "./kernel/store/sqlite/database.ts";
import { alreadyInUse, storeProblem } from "./kernel/store/store-problem.ts";
import type { Store, StoreLocation } from "./kernel/store/store.ts";
import { bootstrapKey } from "./keys/bootstrap.ts";
import { applyModels } from "./models/apply.ts";

/** The service cannot start. `findings` are those of the model catalog, if it is invalid. */
export interface Failed {
  readonly state: "failed";
  readonly problem: Problem;
  readonly findings?: readonly Finding[];
  /** Whether a given file is invalid on every machine. */
  readonly isInvalid?: true;
}

/** Reads the certificate; null without TLS. */
export async function readPair(
  tls: TlsFiles | null,
  { clock, files }: ServiceMachine,
): Promise<CertificatePair | Failed | null> {
  if (tls === null) return null;
  const reading = await readCertificatePair(files, tls, clock.wallMs());
  return reading.state === "read" ? reading.pair : { state: "failed", problem: reading.problem, isInvalid: true };
}

/** Opens the store, and locks a data directory for this process. `resources` releases both. */
export async function openLockedStore(
  location: StoreLocation,
  machine: ServiceMachine,
  resources: AsyncDisposableStack,
): Promise<Store | Failed> {
  if (location.kind === "sqlite") {
    await machine.files.makeDirectory(location.dataDirectory, 0o700);
    const lock = lockDirectory(location.dataDirectory);
    if (lock === null) return { state: "failed", problem: alreadyInUse(location.dataDirectory) };
    resources.use(lock);
  }
  return resources.use(await openStore(location, machine));
}

/** Writes what the store needs before the first request: a valid key, and the models. */
export async function prepareStore(
  { bootstrapKeyFile, modelsFile }: { readonly bootstrapKeyFile: string | null; readonly modelsFile: string | null },
  context: OperationContext,
): Promise<Failed | null> {
  if (bootstrapKeyFile !== null) {
    const problem = await bootstrapKey(bootstrapKeyFile, context.store, context.newId, context.machine);
    if (problem !== null) return { state: "failed", problem };
  }
  if (modelsFile === null) return null;
  const findings = await applyModels(modelsFile, context);
  return findings === null ? null : { state: "failed", problem: modelsRefused(modelsFile), findings, isInvalid: true };
}

function modelsRefused(path: string): Problem {
  return {
    code: "models-refused",
    what: "the model catalog cannot be applied",
    where: path,
    fix: `correct the errors above, then check the catalog with: robot-policy-service models apply --dry-run ${path}`,
  };
}

const WHAT_BY_CODE: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "another program listens there"],
  ["EADDRNOTAVAIL", "this computer does not have that address"],
  ["ENOTFOUND", "there is no such host"],
  ["EAI_AGAIN", "the host name could not be resolved"],
]);

/** The message for a service that could not start; null for a bug. */
export function startProblem(
  error: unknown,
  { store, listen }: { readonly store: StoreLocation; readonly listen: ListenAddress },
): Problem | null {
  return isListenError(error) ? listenProblem(error, listen) : storeProblem(error, store);
}

function listenProblem(error: Error, listen: ListenAddress): Problem {
  const code = errorCode(error) ?? "";
  const problem = { code: "cannot-listen", where: formatListenAddress(listen) };
  if (code === "EACCES") {
    return {
      ...problem,
      what: "ports below 1024 need the capability CAP_NET_BIND_SERVICE",
      fix: `under systemd, the unit gives it with AmbientCapabilities=, as robot-policy-service.service does; otherwise choose a port from 1024 on`,
    };
  }
  const what = WHAT_BY_CODE.get(code) ?? `the system does not let it listen on that address (${code})`;
  return { ...problem, what, fix: "choose another address with --listen HOST:PORT" };
}

const LISTEN_CALLS: ReadonlySet<unknown> = new Set(["listen", "bind", "getaddrinfo", "uv_interface_addresses"]);

/** Connections to a database fail with the same codes, but in other system calls. */
function isListenError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && LISTEN_CALLS.has(error.syscall);
}
