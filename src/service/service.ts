/**
 * The self-hosted robot policy service: the /v1 API over a store on the local disk.
 *
 * http/ takes requests and guards its limits, auth/ tells who sends them, validation/ holds their bodies to the contract of
 * src/api, operations/ does what they ask, store/ remembers it. A request is answered when what it changed is on the disk.
 */
import { isIPv6 } from "node:net";
import type { AddressInfo } from "node:net";

import type { FastifyInstance } from "fastify";

import { errorCode } from "../platform/files.ts";
import type { Problem } from "../platform/terminal.ts";
import { bootstrapKey } from "./auth/bootstrap.ts";
import { createInFlight } from "./http/in-flight.ts";
import type { InFlight } from "./http/in-flight.ts";
import { HTTP_LIMITS } from "./http/limits.ts";
import type { HttpLimits } from "./http/limits.ts";
import { createHttpServer } from "./http/server.ts";
import { createIds } from "./ids.ts";
import type { ServiceMachine } from "./machine.ts";
import { lockDirectory } from "./store/instance-lock.ts";
import { openStore } from "./store/store.ts";

export interface ServiceConfiguration {
  /** Holds everything the service remembers; made when it is not there. */
  readonly data_directory: string;
  /** Port 0 takes any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly bootstrap_key_file: string | null;
  readonly limits?: Partial<HttpLimits>;
}

export type Started =
  | { readonly state: "listening"; readonly url: string }
  | { readonly state: "failed"; readonly problem: Problem };

export interface Service extends AsyncDisposable {
  /** Resolves when requests are accepted, or cannot be. Once only. */
  start(): Promise<Started>;
}

/** The service, not yet started. Disposing of it lets requests in flight finish, for `drain_timeout_ms` at most. */
export function createService(configuration: ServiceConfiguration, machine: ServiceMachine): Service {
  const limits = { ...HTTP_LIMITS, ...configuration.limits };
  const resources = new AsyncDisposableStack();
  return {
    async start() {
      try {
        return await start(configuration, machine, limits, resources);
      } catch (error) {
        const problem = startProblem(error, configuration);
        if (problem === null) throw error;
        return { state: "failed", problem };
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function start(
  { data_directory, listen, bootstrap_key_file }: ServiceConfiguration,
  machine: ServiceMachine,
  limits: HttpLimits,
  resources: AsyncDisposableStack,
): Promise<Started> {
  await machine.files.makeDirectory(data_directory, 0o700);
  const lock = lockDirectory(data_directory);
  if (lock === null) return { state: "failed", problem: alreadyInUse(data_directory) };
  resources.use(lock);
  const store = resources.use(await openStore(machine.files, data_directory));
  const newId = createIds(machine.clock, machine.random);
  if (bootstrap_key_file !== null) {
    const problem = await bootstrapKey(bootstrap_key_file, store, newId, machine);
    if (problem !== null) return { state: "failed", problem };
  }
  const stopping = new AbortController();
  const draining = { signal: stopping.signal, in_flight: createInFlight() };
  const app = createHttpServer({ store, newId, machine }, limits, draining);
  resources.defer(async () => {
    stopping.abort();
    await drain(app, draining.in_flight, machine, limits.drain_timeout_ms);
  });
  await app.listen({ ...listen, listenTextResolver: () => "" });
  return { state: "listening", url: urlOf(app.server.address(), listen.host) };
}

/** Stops listening, lets answers that are owed go out, then closes what is left: clients that keep their connection for later. */
async function drain(
  app: FastifyInstance,
  in_flight: InFlight,
  { clock, log }: ServiceMachine,
  timeout_ms: number,
): Promise<void> {
  const closed = app.close();
  const patience = new AbortController();
  const idle = in_flight.idle().then(() => patience.abort());
  try {
    await clock.sleep(timeout_ms, patience.signal);
    log.warn("drain_cut_short", { timeout_ms });
  } catch {
    // Nothing is owed any more.
  }
  app.server.closeAllConnections();
  await Promise.all([closed, idle]);
}

function urlOf(address: AddressInfo | string | null, host: string): string {
  if (address === null || typeof address === "string") throw new Error("The service listens on no TCP port");
  return `http://${isIPv6(host) ? `[${host}]` : host}:${address.port}`;
}

function alreadyInUse(directory: string): Problem {
  return {
    code: "data-directory-in-use",
    what: "Another robot-policy-service runs on this data directory.",
    where: directory,
    fix: "Stop the other one, or give this one a directory of its own with --data.",
  };
}

const LISTEN_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "Another program listens there."],
  ["EADDRNOTAVAIL", "This computer does not have that address."],
  ["ENOTFOUND", "There is no such host."],
  ["EAI_AGAIN", "The host name could not be resolved."],
]);

/** Failures of the machine a person can act on; null for a bug. */
function startProblem(error: unknown, { data_directory, listen }: ServiceConfiguration): Problem | null {
  const code = errorCode(error);
  if (code === undefined ? !isStoreFailure(error) : isProgramError(code)) return null;
  const listenProblem = LISTEN_PROBLEMS.get(code ?? "");
  if (listenProblem !== undefined || (code === "EACCES" && listen.port < 1024 && listen.port !== 0)) {
    return {
      code: "cannot-listen",
      what: listenProblem ?? "Ports below 1024 need a privilege.",
      where: `${listen.host}:${listen.port}`,
      fix: "Choose another address with --listen HOST:PORT.",
    };
  }
  return {
    code: "data-directory-unusable",
    what: `The data directory cannot be used: ${reasonOf(error)}.`,
    where: data_directory,
    fix: "Make sure that this user can write there, that the disk is not full, and that no newer version used it before.",
  };
}

/** The store wraps what went wrong while it opened. */
function isStoreFailure(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error;
}

/** Codes Node and the web framework give to misuse of themselves. */
function isProgramError(code: string): boolean {
  return (code.startsWith("ERR_") && code !== "ERR_SQLITE_ERROR") || code.startsWith("FST_");
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
