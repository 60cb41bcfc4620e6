import type { FastifyInstance } from "fastify";

import type { HttpAnswer, HttpRequest } from "../../../../src/client/transport/transport.ts";
import type { Log } from "../../../../src/platform/log/log.ts";
import { assemble } from "../../../../src/service/assembly.ts";
import type { HealthProbe, ReadinessTimes } from "../../../../src/service/endpoints/prober.ts";
import { IDENTITY_SETTINGS } from "../../../../src/service/identity/index.ts";
import { WEBHOOK_SETTINGS } from "../../../../src/service/webhooks/index.ts";
import type { ServiceMachine } from "../../../../src/service/kernel/machine.ts";
import { StoreUnavailableError, unavailable } from "../../../../src/service/kernel/store/unavailable.ts";
import { RATE_LIMITS } from "../../../../src/service/kernel/traffic/limits.ts";
import { SERVICE_LIMITS } from "../../../../src/service/limits.ts";
import type { Dice } from "../../dice.ts";
import { processClock, type WallClock } from "../../machine/wall-clock.ts";
import type { Process, Scheduler } from "../../scheduler.ts";
import type { Trace } from "../../trace.ts";
import type { ServiceMistake } from "../service-mistakes.ts";
import type { Database } from "./database.ts";
import { refuseFiles } from "./no-files.ts";
import { silentMetrics } from "./silent-metrics.ts";
import type { Connection } from "./slow-dialect.ts";

/** A process of the service as released, without sockets, on the shared database. */
export interface Replica {
  readonly name: string;
  readonly wall: WallClock;
  /** Whether the process answers, or would if it were not stopped. */
  readonly isServing: boolean;
  readonly starts: number;
  /** Factor for the duration of its queries. */
  slowness: number;
  start(): void;
  /** kill -9. The service manager restarts the process. */
  crash(): void;
  /** SIGTERM: requests in flight complete. The service manager restarts the process. */
  terminate(): void;
  /** SIGSTOP and SIGCONT. */
  stop(): void;
  goOn(): void;
  /** Ends the process permanently. */
  end(): void;
  /** Null when the connection breaks. */
  handle(request: HttpRequest, address: string): Promise<HttpAnswer | null>;
}

export interface ReplicaOptions {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly wall: WallClock;
  readonly database: Database;
  readonly mistake: ServiceMistake;
  /** Whether the database's disk fails, so that the process may report it or fail to start. */
  isDiskFailing(): boolean;
  /** The result of a probe of this URL. */
  isHealthy(healthUrl: string): boolean;
  onLog(level: "info" | "warn" | "error", text: string): void;
  fail(message: string): void;
}

/** As released, with longer task intervals, because each check costs as many queries as a request. */
const READINESS: ReadinessTimes = {
  expectedMs: 10_000,
  idleMs: 300_000,
  repeatMs: 2_000,
  probeTimeoutMs: 5_000,
  tickMs: 4_000,
};
/** As released, with lifetimes as short as the simulated runs. */
const IDENTITY = { ...IDENTITY_SETTINGS, codeTtlMs: 90_000, credentialTtlMs: 45_000 };
const CONFIGURATION = {
  tls: null,
  trustedProxies: [],
  bootstrapKeyFile: null,
  modelsFile: null,
  rateLimit: RATE_LIMITS,
  metrics: false,
  consoleFolder: null,
  logRequests: false,
  auditRetentionDays: 365,
  limits: SERVICE_LIMITS,
  readiness: READINESS,
  identity: IDENTITY,
  webhooks: WEBHOOK_SETTINGS,
};
const RESTART_MS = { minimum: 200, maximum: 5000 };
/** Most queries take negligible time. */
const SLOW_QUERIES = 0.2;
const QUERY_MS = 2;

/** One run of the process. */
interface Run {
  readonly process: Process;
  readonly resources: AsyncDisposableStack;
  /** Requests without an answer so far; they get null when the process ends. */
  readonly owed: Set<(answer: null) => void>;
  app: FastifyInstance | null;
  /** Closes its database connection; null before there is one. */
  drop: Connection["drop"] | null;
}

export function createReplica(options: ReplicaOptions): Replica {
  const { name, scheduler, trace, wall, database, mistake } = options;
  let run: Run | null = null;
  let hasEnded = false;
  let starts = 0;

  async function launch(current: Run): Promise<void> {
    const { process, resources } = current;
    const dice = options.dice.fork();
    const { unit } = dice.fork();
    const pausing = dice.fork();
    const pause = (): Promise<void> => {
      if (!pausing.chance(Math.min(1, SLOW_QUERIES * replica.slowness))) return Promise.resolve();
      return new Promise((resolve) => {
        scheduler.after(pausing.between(0, QUERY_MS * replica.slowness), process, `${name} query`, resolve);
      });
    };
    const machine: ServiceMachine = mistake.machine({
      clock: processClock(scheduler, wall, process, dice.fork()),
      random: { unit, bytes: (count) => Uint8Array.from({ length: count }, () => unit() * 256) },
      files: refuseFiles,
      log: logOf(process),
    });
    const now = new Date(wall.wall_ms()).toISOString();
    const connection = await database.open({
      process,
      now,
      pause,
      mistake,
      onDrop: (drop) => (current.drop = drop),
    });
    if (!process.alive) return connection.drop();
    const store = resources.use(mistake.store(connection.store));
    const foundation = { store, health: probeOf(process, dice.fork()), metrics: silentMetrics, pair: null };
    const assembled = await assemble(CONFIGURATION, foundation, machine, resources, []);
    if (assembled.state === "failed") throw new Error(assembled.problem.what);
    await assembled.app.ready();
    if (!process.alive) return;
    assembled.loop.start();
    current.app = assembled.app;
    trace.note(scheduler.nowMs, `${name} serves`, true);
  }

  function logOf(process: Process): Log {
    const write =
      (level: "info" | "warn" | "error") =>
      (event: string, fields: Readonly<Record<string, unknown>> = {}) => {
        if (!process.alive) return;
        const text = `${event} ${JSON.stringify(fields)}`;
        trace.note(scheduler.nowMs, `  ${name} ${text}`);
        options.onLog(level, text);
      };
    return { debug() {}, info: write("info"), notice: write("info"), warn: write("warn"), error: write("error") };
  }

  function probeOf(process: Process, dice: Dice): HealthProbe {
    return {
      probe: (healthUrl, signal) =>
        new Promise((resolve) => {
          const answer = scheduler.after(
            dice.chance(0.3) ? dice.between(300, 4000) : dice.between(1, 300),
            process,
            `${name} probe`,
            () => {
              resolve(
                options.isHealthy(healthUrl) ? { state: "succeeded" } : { state: "failed", reason: "answered 503" },
              );
            },
          );
          const onAbort = () => {
            answer.cancel();
            resolve({ state: "abandoned" });
          };
          signal.addEventListener("abort", onAbort, { once: true });
        }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  function startLater(): void {
    if (hasEnded) return;
    scheduler.after(options.dice.between(RESTART_MS.minimum, RESTART_MS.maximum), null, `${name} starts again`, () => {
      if (run === null && !hasEnded) replica.start();
    });
  }

  /** The process disappears without a trace. */
  function bury(ended: Run): void {
    ended.process.alive = false;
    if (run === ended) run = null;
    for (const resolve of ended.owed) resolve(null);
    startLater();
  }

  const replica: Replica = {
    name,
    wall,
    slowness: 1,
    get starts() {
      return starts;
    },
    get isServing() {
      return run?.app !== null && run !== null;
    },
    start() {
      const process: Process = { id: 1000 + starts, startedMs: scheduler.nowMs, alive: true };
      const current: Run = {
        process,
        resources: new AsyncDisposableStack(),
        owed: new Set(),
        app: null,
        drop: null,
      };
      run = current;
      starts += 1;
      launch(current).catch((error: unknown) => {
        if (!process.alive) return;
        if (!options.isDiskFailing() || !(unavailable(error) instanceof StoreUnavailableError))
          options.fail(`${name} did not start: ${describe(error)}`);
        // As the service manager does.
        if (run === current) replica.crash();
      });
    },
    crash() {
      if (run === null) return;
      const { drop } = run;
      bury(run);
      void drop?.();
    },
    terminate() {
      if (run === null || run.app === null || run.process.stopped === true) return;
      const ending = run;
      ending.app = null;
      ending.resources.disposeAsync().then(
        () => {
          if (ending.process.alive) bury(ending);
        },
        (error: unknown) => {
          // A killed process does not end in order.
          if (ending.process.alive) options.fail(`${name} did not end: ${describe(error)}`);
        },
      );
    },
    stop() {
      if (run !== null) run.process.stopped = true;
    },
    goOn() {
      if (run?.process.stopped === true) scheduler.goOn(run.process);
    },
    end() {
      hasEnded = true;
      replica.crash();
    },
    async handle(request, address) {
      if (run === null) return null;
      const { process, owed } = run;
      const { promise, resolve } = Promise.withResolvers<HttpAnswer | null>();
      owed.add(resolve);
      // The kernel accepts a request for a stopped process, which does not read it.
      scheduler.after(0, process, `${name} takes a request`, () => {
        void inject(request, address).then(resolve, (error: unknown) => {
          if (process.alive) options.fail(`${name}: ${describe(error)}`);
        });
      });
      const answer = await promise;
      owed.delete(resolve);
      return answer;
    },
  };

  async function inject(request: HttpRequest, address: string): Promise<HttpAnswer | null> {
    const app = run?.app ?? null;
    if (app === null) return null;
    const { pathname, search } = new URL(request.url);
    const response = await app.inject({
      method: request.method,
      url: pathname + search,
      headers: request.headers,
      remoteAddress: address,
      ...(request.body === null ? {} : { payload: request.body }),
    });
    const headers = Object.fromEntries(
      Object.entries(response.headers).flatMap(([header, value]) =>
        value === undefined ? [] : [[header, Array.isArray(value) ? value.join(", ") : String(value)]],
      ),
    );
    headers["date"] = new Date(wall.wall_ms()).toUTCString();
    return mistake.answer({ status: response.statusCode, headers, body: response.rawPayload, complete: true }, request);
  }

  return replica;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
