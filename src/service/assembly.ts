/**
 * Assembles the service over a store, without process, sockets and files. The simulation passes requests to `app` directly.
 */
import type { FastifyInstance } from "fastify";

import { createInFlight, drain } from "./drain.ts";
import type { HealthProbe, ReadinessTimes } from "./endpoints/prober.ts";
import type { IdentitySettings } from "./identity/index.ts";
import { addStoreFigures } from "./figures.ts";
import { createRobotCredentials } from "./identity/robot-credentials.ts";
import { createLiveness, createReportPresence } from "./identity/presence.ts";
import { createLastUsed } from "./kernel/auth/last-used.ts";
import { type CertificatePair, keepCertificate, type TlsFiles } from "./kernel/connections/tls.ts";
import { createListener, type Listener } from "./kernel/connections/listener.ts";
import { createGate } from "./kernel/http/gate.ts";
import { createIds } from "./kernel/ids.ts";
import type { ServiceMachine } from "./kernel/machine.ts";
import { measureStore, measureTask, type Metrics } from "./kernel/metrics.ts";
import type { Store } from "./kernel/store/store.ts";
import { StoreUnavailableError } from "./kernel/store/unavailable.ts";
import { createTaskLoop, type Task, type TaskLoop } from "./kernel/tasks/task-loop.ts";
import { createRateLimiter, UNLIMITED } from "./kernel/traffic/rate-limiter.ts";
import type { RateLimits } from "./kernel/traffic/limits.ts";
import { createTraffic } from "./kernel/traffic/traffic.ts";
import { reapplyModels } from "./models/apply.ts";
import { type Failed, prepareStore } from "./preparation.ts";
import { createRefusals } from "./robots/refusals.ts";
import { createHttpServer, type HttpConfiguration } from "./server.ts";
import { createTasks } from "./tasks.ts";
import type { OperationContext } from "./kernel/operation.ts";
import type { WebhookSettings } from "./webhooks/index.ts";
import { createReceivers, createSender } from "./webhooks/receivers.ts";

/** Options of the parts, with all defaults resolved. */
export interface AssemblyConfiguration extends HttpConfiguration {
  readonly tls: TlsFiles | null;
  readonly bootstrapKeyFile: string | null;
  /** The model catalog, applied at start and by `reload`. */
  readonly modelsFile: string | null;
  /** Null disables it. */
  readonly rateLimit: RateLimits | null;
  readonly auditRetentionDays: number;
  readonly readiness: ReadinessTimes;
  readonly identity: IdentitySettings;
  readonly webhooks: WebhookSettings;
}

/** What the parts are built on. */
export interface Foundation {
  readonly store: Store;
  /** Disposed of with the tasks. */
  readonly health: HealthProbe;
  readonly metrics: Metrics;
  /** Null without TLS. */
  readonly pair: CertificatePair | null;
}

export type Assembled =
  | {
      readonly state: "assembled";
      /** Does not listen yet. */
      readonly app: FastifyInstance;
      /** Not started yet. */
      readonly loop: TaskLoop;
      readonly scheme: Listener["scheme"];
    }
  | Failed;

/** Prepares the store and builds the service over it. `resources` disposes of all parts, in the order of a graceful stop. */
export async function assemble(
  configuration: AssemblyConfiguration,
  foundation: Foundation,
  machine: ServiceMachine,
  resources: AsyncDisposableStack,
  reloads: (() => Promise<void>)[],
): Promise<Assembled> {
  const { limits, tls, identity } = configuration;
  const { metrics, pair, health } = foundation;
  const store = measureStore(foundation.store, metrics);
  addStoreFigures(store.reader, metrics, machine.clock, identity.onlineWindowMs);

  const lastUsed = createLastUsed(store, machine);
  resources.defer(() => flushAtEnd(lastUsed, machine));
  let loop: TaskLoop | null = null;
  const newId = createIds(machine.clock, machine.random);
  const liveness = createLiveness(store, machine, identity.onlineWindowMs);
  resources.defer(() => flushAtEnd(liveness, machine));
  const context: OperationContext = {
    store,
    newId,
    machine,
    lastUsed,
    limitMet: metrics.limitMet,
    nudge: () => loop?.nudge(),
  };
  const failed = await prepareStore(configuration, context);
  if (failed !== null) return failed;
  const { modelsFile } = configuration;
  if (modelsFile !== null) reloads.push(() => reapplyModels(modelsFile, context));

  const refusals = createRefusals(store);
  resources.defer(() => flushAtEnd(refusals, machine));
  const listener = createListener(limits, pair, metrics.limitMet);
  const receivers = createReceivers(configuration.webhooks.allow);
  const sender = createSender(receivers, configuration.webhooks.timeoutMs);
  const tasks = [
    ...createTasks(context, { ...configuration, health, sender }, resources),
    lastUsed.task,
    liveness.task,
    createReportPresence({ ...context, liveness, identity }),
    refusals.task,
  ];
  if (tls !== null && pair !== null) {
    reloads.push(keepCertificate(tls, pair, { listener, metrics, machine }));
  }
  loop = createTaskLoop(
    tasks.map((task) => measureTask(task, metrics)),
    machine,
  );
  resources.use(loop);

  const limiter =
    configuration.rateLimit === null ? UNLIMITED : createRateLimiter(configuration.rateLimit, machine.clock);
  const stopping = new AbortController();
  const draining = { signal: stopping.signal, inFlight: createInFlight() };
  const servesConsole = configuration.consoleFolder !== null;
  const installations = { store, newId, machine, liveness, identity };
  const robots = createRobotCredentials(installations);
  const gate = createGate({ ...context, robots, servesConsole }, limiter);
  const app = createHttpServer(
    {
      ...context,
      ...installations,
      receivers,
      sender,
      gate,
      refusals,
      traffic: createTraffic(limits, metrics.limitMet),
    },
    configuration,
    { listener, draining, metrics },
  );
  resources.defer(async () => {
    stopping.abort();
    await drain(app, draining.inFlight, machine, limits.drainTimeoutMs);
  });
  return { state: "assembled", app, loop, scheme: listener.scheme };
}

/** Writes what was noted in memory since the last run; it is lost if the store is unavailable. */
async function flushAtEnd(
  { task, flush }: { readonly task: Task; flush(): Promise<void> },
  { log }: Pick<ServiceMachine, "log">,
): Promise<void> {
  try {
    await flush();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    log.warn("notes_lost", { task: task.name, reason: error.message });
  }
}
