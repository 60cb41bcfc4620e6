/** A robot with real files; tests control time, events and the network. For tests of the daemon's parts. */
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";

import { onTestFinished } from "vitest";

import { type Agent, createAgent } from "../../../src/agent/agent.ts";
import { type Collector, createCollector } from "../../../src/agent/collector.ts";
import type { AgentConfiguration } from "../../../src/agent/configuration/configuration.ts";
import {
  createDocuments,
  type ReadDocument,
  readConfigurationNow,
} from "../../../src/agent/configuration/documents.ts";
import { resolveFolders } from "../../../src/agent/configuration/folders.ts";
import {
  createReconciler,
  type Reconciler,
  type ReconcileRequest,
  type ReconcilerOptions,
  type RunResult,
} from "../../../src/agent/reconciler.ts";
import { connect, type Connection, type OwnCredential } from "../../../src/agent/registration/connect.ts";
import { trackFiles } from "../../../src/platform/files/pending-files.ts";
import type { RobotSetup } from "../../../src/api/robots.ts";
import { createLook } from "../../../src/look/look.ts";
import { type HttpAnswer, type HttpRequest, TransportError } from "../../../src/client/transport/transport.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import type { DirectoryListener } from "../../../src/platform/files/file-events.ts";
import { type Files, systemFiles } from "../../../src/platform/files/files.ts";
import type { Identity } from "../../../src/platform/identity.ts";
import type { Machine } from "../../../src/platform/machine.ts";
import { SteppedClock, temporaryFolder } from "../look/machine.ts";

/** The identity of a robot with an API key. */
const NO_IDENTITY = { approved: null, before: null, held: null, version: "" };

/** A run that nobody asked for. */
const USUAL: ReconcileRequest = {
  forced: false,
  confirm: false,
  identity: NO_IDENTITY,
  signal: new AbortController().signal,
};

/** Answer of the service. */
export type Answer = "ok" | "reset" | number;

export interface Robot {
  readonly folder: string;
  /** Path of the configuration file. */
  readonly path: string;
  readonly keyPath: string;
  /** Path of the certificate authority, which does not exist. */
  readonly caPath: string;
  readonly stateDirectory: string;
  readonly holdPath: string;
  /** A test may replace the methods of its identity. */
  readonly machine: Machine & { readonly identity: { -readonly [K in keyof Identity]: Identity[K] } };
  /** The disk of `machine`; a test may replace its methods. */
  readonly disk: { -readonly [K in keyof Files]: Files[K] };
  readonly configuration: ReadDocument<AgentConfiguration>;
  readonly initial: AgentConfiguration;
  readonly pending: ReturnType<typeof trackFiles>;
  /** Every request so far, but for those about parts. */
  readonly requests: readonly HttpRequest[];
  /** Requests about the parts of registrations, which the service does not know. */
  readonly partRequests: readonly HttpRequest[];
  /** Digests of all sent registrations. */
  digests(): readonly string[];
  /** Answers to the next requests; the last one is repeated. */
  answer(...answers: readonly Answer[]): void;
  /** Answers in place of `answer`. */
  respond: ((request: HttpRequest) => { readonly status: number; readonly body: unknown }) | null;
  /** Called right before the service answers. */
  onRequest: () => Promise<void>;
  /** The robot id in the service's answers. */
  robotId: string;
  /** How often the modules of a request were preloaded. */
  prepared(): number;
  connect(configuration: AgentConfiguration, ownCredential: OwnCredential): Connection;
  /** Reports an event of the configuration file. Writes report none by themselves. */
  reportEvent(): void;
}

export async function createRobot(clock: Clock, name = "arm-7"): Promise<Robot> {
  const folder = await temporaryFolder();
  const at = (file: string) => join(folder, file);
  const [path, keyPath, caPath, stateDirectory] = [at("arm.rules"), at("api-key"), at("ca.pem"), at("state")];
  await mkdir(stateDirectory);
  await writeFile(path, "first\n");
  await writeFile(keyPath, `${keyOf("a")}\n`, { mode: 0o600 });
  await writeFile(
    join(folder, "config.yaml"),
    `service: { url: "http://127.0.0.1:1", key_file: ${keyPath}, ca_file: ${caPath} }\nrobot: { name: "${name}", region: eu-central-1 }\n`,
  );
  await writeFile(
    join(folder, "robot-manifest.yaml"),
    `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: [${path}]\n`,
  );
  const disk = { ...systemFiles };
  const pending = trackFiles(disk, clock);
  const listeners = new Set<DirectoryListener>();
  const machine: Robot["machine"] = {
    clock,
    random: { unit: () => 1, bytes: (count) => new Uint8Array(count) },
    files: pending.files,
    events: {
      watch(_directory, listener) {
        listeners.add(listener);
        return { close: () => void listeners.delete(listener) };
      },
    },
    identity: { hostname: () => "cell", machine: async () => "ab".repeat(32) },
    notify: { ready() {}, status() {}, stopping() {}, watchdog() {}, watchdogMs: null },
  };
  const configuration = await readConfigurationNow(machine, join(folder, "config.yaml"));
  const initial = configuration.reading.value;
  if (initial === null) throw new Error(JSON.stringify(configuration.reading.findings));

  const requests: HttpRequest[] = [];
  const partRequests: HttpRequest[] = [];
  const answers: Answer[] = ["ok"];
  let prepared = 0;
  const send = async (request: HttpRequest): Promise<HttpAnswer> => {
    if (request.url.endsWith("/registration/parts")) {
      partRequests.push(request);
      return reply(404, { detail: "Not Found" });
    }
    requests.push(request);
    await robot.onRequest();
    if (robot.respond !== null) {
      const { status, body } = robot.respond(request);
      return reply(status, body);
    }
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === "reset" || answer === undefined) throw new TransportError("reset", null, "the connection broke");
    return answer === "ok" ? accept(request, robot.robotId) : reply(answer, { detail: "no" });
  };
  const robot: Robot = {
    folder,
    path,
    keyPath,
    caPath,
    stateDirectory,
    holdPath: join(folder, "hold.json"),
    machine,
    disk,
    configuration,
    initial,
    pending,
    requests,
    partRequests,
    digests: () => requests.flatMap((request) => bodyOf(request)?.configuration_digest ?? []),
    answer: (...next) => answers.splice(0, answers.length, ...next),
    respond: null,
    onRequest: async () => {},
    robotId: "rob_1",
    prepared: () => prepared,
    reportEvent() {
      for (const listener of listeners) listener.onEvent(basename(path));
    },
    connect: (current, ownCredential) =>
      connect(
        current,
        {
          machine,
          folders: resolveFolders({ config: configuration.path, stateDir: stateDirectory }, {}),
          environment: {},
          userId: process.getuid?.() ?? 0,
          version: "0.0.0",
          openTransport: () => ({
            send,
            prepare() {
              prepared += 1;
            },
            close: async () => {},
          }),
        },
        ownCredential,
      ),
  };
  return robot;
}

/** A key in a valid format. */
export function keyOf(letter: string): string {
  return `sk_live_${letter.repeat(24)}`;
}

function bodyOf({ method, body }: HttpRequest): RobotSetup | null {
  return method === "POST" && body !== null ? JSON.parse(body) : null;
}

function accept(request: HttpRequest, id: string): HttpAnswer {
  const setup = bodyOf(request);
  if (setup === null) return reply(404, { detail: "Not Found" });
  const { name, robot_type_id: robotTypeId, region } = setup;
  const robot = {
    id,
    name,
    robot_type_id: robotTypeId,
    region,
    created_at: "2026-01-01T00:00:00Z",
    site: null,
    labels: {},
  };
  return reply(200, { robot });
}

function reply(status: number, body: unknown): HttpAnswer {
  const headers = { "content-type": "application/json" };
  return { status, headers, body: Buffer.from(JSON.stringify(body)), complete: true };
}

export interface ReconciledRobot extends Robot {
  readonly clock: SteppedClock;
  readonly collector: Collector;
  readonly reconciler: Reconciler;
  /** Events of the log. */
  readonly logged: readonly string[];
  /** Writes the configuration file. */
  write(content: string): Promise<void>;
  /** Reconciles until no file is being written. */
  run(request?: Partial<ReconcileRequest>): Promise<RunResult>;
}

/** The reconciler of a robot, unregistered unless `registration` is given. */
export async function reconciledRobot(
  registration: ReconcilerOptions["registration"] = null,
): Promise<ReconciledRobot> {
  const clock = new SteppedClock();
  const robot = await createRobot(clock);
  const { machine } = robot;
  const connection = robot.connect(robot.initial, () => null);
  const look = createLook(machine);
  look.remember(registration?.files ?? []);
  const documents = createDocuments(machine, look, robot.configuration, robot.initial);
  const collector = createCollector({ machine, look, documents, name: registration?.request.name });
  const logged: string[] = [];
  // The service has no operation for parts, which tests of parts show.
  const note = (event: string) => event !== "parts-not-taken" && logged.push(event);
  const reconciler = createReconciler({
    machine,
    look,
    collector,
    stateDirectory: robot.stateDirectory,
    holdPath: robot.holdPath,
    registration,
    connection: () => connection,
    onFindings() {},
    log: { debug: note, info: note, notice: note, warn: note, error: note },
  });
  const run: ReconciledRobot["run"] = async (request) => {
    for (;;) {
      const result = await reconciler.reconcile({ ...USUAL, ...request });
      if (result.kind !== "unsettled") return result;
      clock.step(result.dueMs - clock.monotonicMs());
    }
  };
  const write = (content: string) => writeFile(robot.path, content);
  return Object.assign(robot, { clock, collector, reconciler, logged, write, run });
}

/** A clock that only the test advances. */
export class HeldClock implements Clock {
  #nowMs = 0;
  readonly #start_ms = Date.now() + 0.5;
  readonly #sleepers = new Set<{ readonly dueMs: number; readonly wake: () => void }>();
  wallMs = () => this.#start_ms + this.#nowMs;
  monotonicMs = () => this.#nowMs;
  sleep = (durationMs: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const sleeper = { dueMs: this.#nowMs + durationMs, wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers.delete(sleeper);
        reject(signal.reason);
      });
    });
  /** Number of pending sleeps. */
  get sleepers(): number {
    return this.#sleepers.size;
  }
  step(durationMs: number): void {
    this.#nowMs += durationMs;
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueMs > this.#nowMs) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }
}

export interface OpenedRobot extends Robot {
  readonly clock: HeldClock;
  readonly agent: Agent;
  /** Events of the log. */
  readonly logged: readonly string[];
  /** Configurations applied since the start. */
  readonly configurations: readonly AgentConfiguration[];
}

/** The daemon of an unregistered robot, not yet running. */
export async function openAgent(name?: string): Promise<OpenedRobot> {
  const clock = new HeldClock();
  const robot = await createRobot(clock, name);
  const { machine, configuration, initial } = robot;
  const logged: string[] = [];
  const configurations: AgentConfiguration[] = [];
  const note = (event: string) => logged.push(event);
  const agent = createAgent({
    machine,
    pending: robot.pending,
    log: { debug: note, info: note, notice: (event) => logged.push(event, `notice ${event}`), warn: note, error: note },
    version: "0.0.0",
    processId: process.pid,
    stateDirectory: robot.stateDirectory,
    holdPath: robot.holdPath,
    configuration,
    initial,
    registration: null,
    connect: robot.connect,
    onConfiguration: (current) => configurations.push(current),
  });
  return Object.assign(robot, { clock, agent, logged, configurations });
}

export interface RunningRobot extends OpenedRobot {
  readonly ended: Promise<void>;
  /** Advances time until the condition holds, each time after all disk operations have completed. */
  until(holds: () => boolean): Promise<void>;
  /** Writes the configuration file with the current time of the robot's clock. */
  write(content: string): Promise<void>;
}

/** Maximum simulated time until a test gives up, far above what any test needs. A slow disk does not use it up. */
const PATIENCE_OF_ROBOT_MS = 200_000;

/** The daemon while it runs. */
export async function runningRobot(name?: string, machineId?: Identity["machine"]): Promise<RunningRobot> {
  const robot = await openAgent(name);
  if (machineId !== undefined) robot.machine.identity.machine = machineId;
  const { agent, clock, path, pending } = robot;
  await agent.prepare();
  const ended = agent.run();
  onTestFinished(() => {
    agent.stop();
    return ended;
  });
  const until = async (holds: () => boolean) => {
    const beganMs = clock.monotonicMs();
    while (clock.monotonicMs() - beganMs < PATIENCE_OF_ROBOT_MS) {
      if (holds()) return;
      await new Promise(setImmediate);
      if (pending.hanging(0) === null) clock.step(1);
    }
    throw new Error(`the condition never held; agent status:  ${JSON.stringify(agent.status())}`);
  };
  const write = async (content: string) => {
    await writeFile(path, content);
    await utimes(path, clock.wallMs() / 1000, clock.wallMs() / 1000);
  };
  return Object.assign(robot, { ended, until, write });
}
