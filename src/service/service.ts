/**
 * The self-hosted robot policy service: the /v1 API over a store, which is a folder on the local disk or a PostgreSQL database.
 *
 * kernel/ takes requests, guards its limits, tells who sends them, holds their bodies to the contract of src/api, and has the store.
 * Each resource has a folder: its operations, its rules, its queries and what is done about it without being asked. operations.ts
 * mounts the operations, tasks.ts starts the tasks, assembly.ts puts all of it together. A request is answered when what it changed
 * is durable.
 */
import { isIPv6 } from "node:net";
import type { AddressInfo } from "node:net";

import { assemble } from "./assembly.ts";
import { AUDIT_RETENTION_DAYS } from "./configuration/configuration.ts";
import { createHealthProbe } from "./endpoints/probe.ts";
import { READINESS_TIMES } from "./endpoints/times.ts";
import type { ReadinessTimes } from "./endpoints/times.ts";
import type { ListenAddress } from "./kernel/connections/listen-address.ts";
import type { TlsFiles } from "./kernel/connections/tls.ts";
import { watchLoopDelay } from "./kernel/loop-delay.ts";
import type { ServiceMachine } from "./kernel/machine.ts";
import { createMetrics } from "./kernel/metrics.ts";
import type { StoreLocation } from "./kernel/store/store.ts";
import { RATE_LIMITS } from "./kernel/traffic/rate-limits.ts";
import type { RateLimits } from "./kernel/traffic/rate-limits.ts";
import { SERVICE_LIMITS } from "./limits.ts";
import type { ServiceLimits } from "./limits.ts";
import { openLockedStore, readPair } from "./preparation.ts";
import type { Failed } from "./preparation.ts";
import { startProblem } from "./start-problem.ts";

/** What the service is told; of what may be left out, `resolve` has the default. */
export interface ServiceConfiguration {
  /** Holds everything the service remembers; a data directory is made when it is not there. */
  readonly store: StoreLocation;
  readonly listen: ListenAddress;
  readonly tls?: TlsFiles | null;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[];
  readonly bootstrap_key_file?: string | null;
  /** The model catalog, applied at start and by `reload`. */
  readonly models_file?: string | null;
  /** Null switches it off. */
  readonly rateLimit?: RateLimits | null;
  readonly metrics?: boolean;
  /** Where the built console is; without it none is served. */
  readonly consoleFolder?: string | null;
  /** Tell every request at info, not only at debug. */
  readonly logRequests?: boolean;
  /** Null keeps the audit log for ever. */
  readonly auditRetentionDays?: number | null;
  readonly limits?: Partial<ServiceLimits>;
  readonly readiness?: Partial<ReadinessTimes>;
}

export type Started = { readonly state: "listening"; readonly url: string } | Failed;

export interface Service extends AsyncDisposable {
  /** Resolves when requests are accepted, or cannot be. Once only. */
  start(): Promise<Started>;
  /** Takes the TLS files and the model catalog as they are now. What is wrong with them is told in the log, and the old ones stay. */
  reload(): Promise<void>;
}

/** Connections that the kernel makes before they are accepted. Those beyond try again after one, three and seven seconds. */
const WAITING_CONNECTIONS = 4096;

type Resolved = ReturnType<typeof resolve>;

/**
 * The service, not yet started.
 *
 * Disposing of it takes no new requests, lets those in flight finish for `drain_timeout_ms` at most, ends the tasks and closes
 * the store, in this order.
 */
export function createService(configuration: ServiceConfiguration, machine: ServiceMachine): Service {
  const resolved = resolve(configuration);
  const resources = new AsyncDisposableStack();
  const reloads: (() => Promise<void>)[] = [];
  return {
    async start() {
      try {
        return await start(resolved, machine, resources, reloads);
      } catch (error) {
        const problem = startProblem(error, resolved);
        if (problem === null) throw error;
        return { state: "failed", problem };
      }
    },
    async reload() {
      for (const reload of reloads) await reload();
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function resolve(configuration: ServiceConfiguration) {
  return {
    tls: null,
    trustedProxies: [],
    bootstrap_key_file: null,
    models_file: null,
    rateLimit: RATE_LIMITS,
    metrics: true,
    consoleFolder: null,
    logRequests: false,
    auditRetentionDays: AUDIT_RETENTION_DAYS.standard,
    ...configuration,
    limits: { ...SERVICE_LIMITS, ...configuration.limits },
    readiness: { ...READINESS_TIMES, ...configuration.readiness },
  };
}

async function start(
  configuration: Resolved,
  machine: ServiceMachine,
  resources: AsyncDisposableStack,
  reloads: (() => Promise<void>)[],
): Promise<Started> {
  const pair = await readPair(configuration.tls, machine);
  if (pair !== null && "state" in pair) return pair;
  const { listen, readiness } = configuration;
  const opened = await openLockedStore(configuration.store, machine, resources);
  if (opened.state === "failed") return opened;
  const health = createHealthProbe(readiness.probeTimeoutMs);
  const metrics = createMetrics();
  resources.use(watchLoopDelay(metrics));
  const foundation = { store: opened.store, health, metrics, pair };
  const assembled = await assemble(configuration, foundation, machine, resources, reloads);
  if (assembled.state === "failed") return assembled;
  const { app, loop, scheme } = assembled;
  await app.listen({ ...listen, backlog: WAITING_CONNECTIONS, listenTextResolver: () => "" });
  loop.start();
  return { state: "listening", url: urlOf(scheme, app.server.address(), listen.host) };
}

function urlOf(scheme: "http" | "https", address: AddressInfo | string | null, host: string): string {
  if (address === null || typeof address === "string") throw new Error("The service listens on no TCP port");
  return `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${address.port}`;
}
