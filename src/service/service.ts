/**
 * The self-hosted robot policy service: the /v1 API over a store, which is a folder on the local disk or a PostgreSQL database.
 *
 * kernel/ receives requests, enforces limits, authenticates, validates bodies against the contract of src/api, and has the store. Each
 * resource has a folder with its operations, rules, queries and background tasks. operations.ts mounts the operations, tasks.ts starts
 * the tasks, assembly.ts assembles the service. A request is answered when its changes are durable.
 */
import { type AddressInfo, isIPv6 } from "node:net";

import { assemble, type AssemblyConfiguration } from "./assembly.ts";
import { AUDIT_RETENTION_DAYS } from "./configuration/configuration.ts";
import { createHealthProbe, READINESS_TIMES, type ReadinessTimes } from "./endpoints/prober.ts";
import { addBackupFigure } from "./figures.ts";
import { IDENTITY_SETTINGS, type IdentitySettings } from "./identity/index.ts";
import type { ListenAddress } from "./kernel/connections/listen-address.ts";
import type { ServiceMachine } from "./kernel/machine.ts";
import { createMetrics } from "./kernel/metrics.ts";
import type { StoreLocation } from "./kernel/store/store.ts";
import { RATE_LIMITS, type RateLimits } from "./kernel/traffic/limits.ts";
import { SERVICE_LIMITS, type ServiceLimits } from "./limits.ts";
import { type Failed, openLockedStore, readPair, startProblem } from "./preparation.ts";
import { WEBHOOK_SETTINGS, type WebhookSettings } from "./webhooks/index.ts";

/** Options that have defaults for each of their members. */
interface Settings {
  /** Null disables it. */
  readonly rateLimit?: Partial<RateLimits> | null;
  readonly limits?: Partial<ServiceLimits>;
  readonly readiness?: Partial<ReadinessTimes>;
  readonly identity?: Partial<IdentitySettings>;
  readonly webhooks?: Partial<WebhookSettings>;
}

/** Options of the service; `resolve` has the defaults. */
export interface ServiceConfiguration extends Settings, Partial<Omit<AssemblyConfiguration, keyof Settings>> {
  /** Location of the store; a missing data directory is created. */
  readonly store: StoreLocation;
  readonly listen: ListenAddress;
}

export type Started = { readonly state: "listening"; readonly url: string } | Failed;

export interface Service extends AsyncDisposable {
  /** Resolves when the service accepts requests, or cannot start. Call once. */
  start(): Promise<Started>;
  /** Reloads the TLS files and the model catalog. Errors are logged, and the old ones stay in use. */
  reload(): Promise<void>;
}

/** Connections that the kernel queues before they are accepted. Clients beyond that retry after one, three and seven seconds. */
const WAITING_CONNECTIONS = 4096;

type Resolved = ReturnType<typeof resolve>;

/**
 * The service, not yet started.
 *
 * Disposing of it refuses new requests, waits at most `drainTimeoutMs` for those in flight, ends the tasks and closes the store, in this
 * order.
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
      // Not one after the other: the certificate must not wait for a database that is away.
      await Promise.all(reloads.map((reload) => reload()));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function resolve(configuration: ServiceConfiguration) {
  return {
    tls: null,
    trustedProxies: [],
    bootstrapKeyFile: null,
    modelsFile: null,
    metrics: true,
    consoleFolder: null,
    logRequests: false,
    auditRetentionDays: AUDIT_RETENTION_DAYS.standard,
    ...configuration,
    rateLimit: configuration.rateLimit === null ? null : { ...RATE_LIMITS, ...configuration.rateLimit },
    limits: { ...SERVICE_LIMITS, ...configuration.limits },
    readiness: { ...READINESS_TIMES, ...configuration.readiness },
    identity: { ...IDENTITY_SETTINGS, ...configuration.identity },
    webhooks: { ...WEBHOOK_SETTINGS, ...configuration.webhooks },
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
  const store = await openLockedStore(configuration.store, machine, resources);
  if ("state" in store) return store;
  const health = createHealthProbe(readiness.probeTimeoutMs);
  const metrics = createMetrics();
  if (configuration.store.kind === "sqlite") {
    addBackupFigure(metrics, machine.files, configuration.store.dataDirectory);
  }
  const foundation = { store, health, metrics, pair };
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
