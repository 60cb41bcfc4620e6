import type { Agent } from "../../src/agent/agent.ts";
import type { HttpAnswer, HttpRequest } from "../../src/client/transport/transport.ts";
import type { Machine } from "../../src/platform/machine.ts";
import { createDice, type Dice } from "./dice.ts";
import { createHostedService, type HostedService } from "./hosted-service.ts";
import { type Ending, runDaemon } from "./machine/daemon.ts";
import { createDisk, type Disk, type Inode } from "./machine/disk.ts";
import { type Answer, createNetwork, type Network, type SentRequest } from "./machine/network.ts";
import { HOSTNAME, furnish, AGENT_USER } from "./machine/robot-files.ts";
import { createKernel, type EventTrouble } from "./machine/simulated-events.ts";
import { createSimulatedFiles, type DiskTrouble, type WriteOperation } from "./machine/simulated-files.ts";
import { createWallClock, processClock, type WallClock } from "./machine/wall-clock.ts";
import { type Plant, plantIn } from "./plants.ts";
import { createScheduler, type Process, type Scheduler } from "./scheduler.ts";
import { createTrace, type Trace } from "./trace.ts";

/** A run of the daemon. */
export interface Incarnation {
  readonly process: Process;
  /** When the agent was created with its configuration; Infinity before. */
  createdMs: number;
  /** null until the agent is ready. */
  agent: Agent | null;
  statusText: string;
  logLines: number;
}

/** Observes a world and reports violations. */
export interface Witness {
  onStart?(incarnation: Incarnation): void;
  /** The disk changed, for any reason. */
  onDisk?(): void;
  onPowerCut?(): void;
  /** The agent is about to change the disk. */
  onWrite?(incarnation: Incarnation, operation: WriteOperation, path: string): void;
  /** An operation of the agent failed by an injected error. */
  onTrouble?(incarnation: Incarnation): void;
  onRequest?(incarnation: Incarnation, sent: SentRequest): void;
  onAnswer?(incarnation: Incarnation, sent: SentRequest, answer: Answer): void;
  /** The agent asks whether the service holds the registration. */
  onQuestion?(incarnation: Incarnation, sent: SentRequest): void;
  onQuestionAnswered?(incarnation: Incarnation, sent: SentRequest, answer: Answer): void;
  /** The agent enrolls, renews its credential, sends a heartbeat, or asks for its name. */
  onIdentity?(incarnation: Incarnation, sent: SentRequest): void;
  onIdentityAnswered?(incarnation: Incarnation, sent: SentRequest, answer: Answer): void;
  /** Text that leaves the agent: a log line, a status, a notification. */
  onText?(incarnation: Incarnation, kind: "log" | "status" | "notify", text: string): void;
  onStep?(): void;
}

export interface World {
  readonly dice: Dice;
  readonly scheduler: Scheduler;
  readonly trace: Trace;
  readonly wall: WallClock;
  readonly disk: Disk;
  readonly disk_trouble: DiskTrouble;
  readonly event_trouble: EventTrouble;
  readonly service: HostedService;
  readonly network: Network;
  readonly granularityMs: number;
  /** Name of the robot's registration. */
  readonly hostname: string;
  readonly counts: {
    posts: number;
    questions: number;
    starts: number;
    kills: number;
    power_cuts: number;
    writes: number;
    log_lines: number;
    disturbances: number;
  };
  /** Whether the robot has its own credential instead of a key file. */
  readonly isEnrolled: boolean;
  /** Content for the key file. */
  key: string;
  /** Machine id; a different one makes the robot a copy of the image. */
  machine_id: string;
  /** The running daemon, or null. */
  daemon: Incarnation | null;
  /** Whether the service manager restarts a daemon that ends. */
  supervised: boolean;
  /** The first violation. */
  failure: string | null;
  /** The trace before the failure. */
  lastMoments: readonly string[];
  onOpen: (path: string) => void;
  watchedBy(...witnesses: readonly Witness[]): void;
  fail(message: string): void;
  /** An outside change that gives the agent a reason to act or log. */
  disturb(what: string): void;
  start(): void;
  /** kill -9: none of its code runs from now on. */
  kill(): void;
  powerCut(): void;
  /** Runs until the time is over or a claim fails. */
  runFor(durationMs: number): Promise<void>;
  /** @returns whether the condition held within the limit. */
  runUntil(condition: () => boolean, limitMs: number): Promise<boolean>;
}

export interface WorldOptions {
  readonly granularityMs?: number;
  readonly silentFolders?: readonly string[];
  readonly plant?: Plant | null;
  /** For several robots in one world. */
  readonly surroundings?: Surroundings;
}

/** The environment of a robot in a shared world. */
export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly trace: Trace;
  readonly hostname: string;
  /** Null for a robot that enrolls. */
  readonly key: string | null;
  /** Wraps the agent's machine, to plant a mistake. */
  mistake(machine: Machine): Machine;
  serve(request: HttpRequest): Promise<HttpAnswer | null>;
  fail(message: string): void;
}

export const FIRST_KEY = "sk_sim_CANARY0000000000000000001";

/** How soon the service manager restarts a daemon that ended. */
const RESTART_MS = { minimum: 150, maximum: 4000 };
/** Maximum delay before the restart of a daemon that failed to start; it grows. */
const SLOWEST_RESTART_MS = 60_000;

export function createWorld(seed: number, options: WorldOptions = {}): World {
  const dice = createDice(seed);
  const { surroundings } = options;
  const trace = surroundings?.trace ?? createTrace();
  const scheduler = surroundings?.scheduler ?? createScheduler(dice.fork(), trace);
  const hostname = surroundings?.hostname ?? HOSTNAME;
  const wall = createWallClock(scheduler);
  const granularityMs = options.granularityMs ?? 4;
  const silentFolders = options.silentFolders ?? [];
  const disk = createDisk({
    nowMs: () => scheduler.nowMs,
    wall_ms: wall.wall_ms,
    clockSteps: () => wall.steps,
    granularityMs,
  });
  const diskTrouble: DiskTrouble = { state: "none", ioErrorRate: 0, latencyMs: 0.4, lies: false };
  const eventTrouble: EventTrouble = { lossRate: 0, failureRate: 0, delayMs: 3 };
  const isEnrolled = surroundings?.key === null;
  const key = surroundings?.key ?? FIRST_KEY;
  const service = createHostedService(key);
  const kernel = createKernel({ disk, scheduler, dice: dice.fork(), trouble: eventTrouble, silentFolders });
  const incarnations = new Map<Process, Incarnation>();
  let witnesses: readonly Witness[] = [];
  let nextProcess = 1;

  const tell = <Name extends keyof Witness>(name: Name, ...details: Parameters<NonNullable<Witness[Name]>>) => {
    for (const witness of witnesses) (witness[name] as ((...all: typeof details) => void) | undefined)?.(...details);
  };
  const known = (process: Process): Incarnation => {
    const incarnation = incarnations.get(process);
    if (incarnation === undefined) throw new Error(`No process ${process.id}`);
    return incarnation;
  };

  const network = createNetwork({
    scheduler,
    dice: dice.fork(),
    serve: surroundings?.serve ?? (async (request) => service.serve(request, wall.trueMs())),
    isClockWrong: () => Math.abs(wall.offsetMs) > 300 * 24 * 3_600_000,
    onRequest(sent) {
      const kind = kindOf(sent);
      if (kind === "question") {
        world.counts.questions += 1;
        trace.note(scheduler.nowMs, `#${sent.process.id} asks`, true);
        tell("onQuestion", known(sent.process), sent);
        return;
      }
      if (kind === "identity") {
        trace.note(scheduler.nowMs, `#${sent.process.id} ${sent.request.method} ${pathOf(sent)}`, true);
        tell("onIdentity", known(sent.process), sent);
        return;
      }
      world.counts.posts += 1;
      const digest = /sha256:[0-9a-f]{8}/.exec(sent.request.body ?? "")?.[0] ?? "";
      trace.note(scheduler.nowMs, `#${sent.process.id} ${sent.request.method} ${digest}`, true);
      tell("onRequest", known(sent.process), sent);
    },
    onAnswer(sent, answer) {
      trace.note(
        scheduler.nowMs,
        `#${sent.process.id} hears ${answer.kind === "none" ? "nothing" : answer.answer.status}`,
        true,
      );
      tell(TOLD[kindOf(sent)], known(sent.process), sent, answer);
    },
  });

  function machineFor(incarnation: Incarnation): Machine {
    const { process } = incarnation;
    const files = createSimulatedFiles({
      disk,
      scheduler,
      dice: dice.fork(),
      trace,
      trouble: diskTrouble,
      process,
      userId: AGENT_USER,
      silentFolders,
      onOpen: (path) => world.onOpen(path),
      onWrite(operation, path) {
        world.counts.writes += 1;
        tell("onWrite", incarnation, operation, path);
      },
      onTrouble() {
        world.disturb("I/O error");
        tell("onTrouble", incarnation);
      },
    });
    const { unit } = dice.fork();
    const notify = (text: string) => {
      incarnation.statusText = text;
      tell("onText", incarnation, "notify", text);
    };
    const machine: Machine = {
      clock: processClock(scheduler, wall, process, dice.fork()),
      random: { unit, bytes: (count) => Uint8Array.from({ length: count }, () => unit() * 256) },
      files: plantIn(files, options.plant ?? null),
      events: kernel.eventsFor(process),
      identity: { hostname: () => hostname, machine: async () => world.machine_id },
      notify: { ready: notify, status: notify, stopping() {}, watchdog() {}, watchdogMs: null },
    };
    return surroundings?.mistake(machine) ?? machine;
  }

  function logFor(incarnation: Incarnation) {
    const write = (event: string, fields: Readonly<Record<string, unknown>> = {}) => {
      const text = `${event} ${JSON.stringify(fields)}`;
      incarnation.logLines += 1;
      world.counts.log_lines += 1;
      trace.note(scheduler.nowMs, `  log ${text}`);
      tell("onText", incarnation, "log", text);
    };
    return { debug() {}, info: write, notice: write, warn: write, error: write };
  }

  function ended(incarnation: Incarnation, ending: Ending): void {
    incarnation.process.alive = false;
    if (world.daemon === incarnation) world.daemon = null;
    trace.note(scheduler.nowMs, `#${incarnation.process.id} ${describeEnding(ending)}`);
    if (ending.kind === "crashed") world.fail(describeEnding(ending));
    if (world.supervised) startLater(ending.kind === "refused-to-start" ? SLOWEST_RESTART_MS : RESTART_MS.maximum);
  }

  function startLater(maximumMs: number): void {
    scheduler.after(dice.between(RESTART_MS.minimum, maximumMs), null, "service manager starts the daemon", () => {
      if (world.daemon === null && world.supervised) world.start();
    });
  }

  const world: World = {
    dice,
    scheduler,
    trace,
    wall,
    disk,
    disk_trouble: diskTrouble,
    event_trouble: eventTrouble,
    service,
    network,
    granularityMs,
    hostname,
    isEnrolled,
    counts: { posts: 0, questions: 0, starts: 0, kills: 0, power_cuts: 0, writes: 0, log_lines: 0, disturbances: 0 },
    key,
    machine_id: "a".repeat(64),
    daemon: null,
    supervised: true,
    failure: null,
    lastMoments: [],
    onOpen() {},
    watchedBy(...added) {
      witnesses = [...witnesses, ...added];
      tell("onDisk");
    },
    fail(message) {
      if (world.failure !== null) return;
      world.failure = message;
      trace.note(scheduler.nowMs, `! ${message}`);
      world.lastMoments = trace.tail();
      surroundings?.fail(`${hostname}: ${message}`);
    },
    disturb(what) {
      world.counts.disturbances += 1;
      trace.note(scheduler.nowMs, what, true);
    },
    start() {
      const process: Process = { id: nextProcess++, startedMs: scheduler.nowMs, alive: true };
      const incarnation: Incarnation = {
        process,
        createdMs: Number.POSITIVE_INFINITY,
        agent: null,
        statusText: "",
        logLines: 0,
      };
      incarnations.set(process, incarnation);
      world.daemon = incarnation;
      world.counts.starts += 1;
      tell("onStart", incarnation);
      runDaemon({
        machine: machineFor(incarnation),
        log: logFor(incarnation),
        process_id: process.id,
        openTransport() {
          incarnation.createdMs = Math.min(incarnation.createdMs, scheduler.nowMs);
          return network.transportFor(process);
        },
        onAgent(agent) {
          incarnation.agent = agent;
        },
        onEnd: (ending) => ended(incarnation, ending),
      });
    },
    kill() {
      if (world.daemon === null) return;
      world.counts.kills += 1;
      world.daemon.process.alive = false;
      world.daemon = null;
      if (world.supervised) startLater(RESTART_MS.maximum);
    },
    powerCut() {
      world.counts.power_cuts += 1;
      world.kill();
      disk.powerCut(dice);
      tell("onPowerCut");
    },
    async runFor(durationMs) {
      await world.runUntil(() => false, durationMs);
    },
    async runUntil(condition, limitMs) {
      const endMs = scheduler.nowMs + limitMs;
      // Lets time pass even if nothing happens.
      scheduler.after(limitMs, null, "time is up", () => {});
      while (world.failure === null && scheduler.dueMs() <= endMs) {
        if (condition()) return true;
        if (!(await scheduler.step())) return condition();
        tell("onStep");
      }
      return condition();
    },
  };

  disk.onChange = (directory: Inode | null, name) => {
    if (directory !== null) kernel.changed(directory, name);
    tell("onDisk");
  };
  furnish(disk, isEnrolled ? null : key);
  return world;
}

type Kind = "registration" | "question" | "identity";

const TOLD = {
  registration: "onAnswer",
  question: "onQuestionAnswered",
  identity: "onIdentityAnswered",
} as const satisfies Record<Kind, keyof Witness>;

function kindOf(sent: SentRequest): Kind {
  const path = pathOf(sent);
  if (path.endsWith("/setup")) return "registration";
  return path.endsWith("/registration") ? "question" : "identity";
}

function pathOf({ request }: SentRequest): string {
  return new URL(request.url).pathname;
}

function describeEnding(ending: Ending): string {
  switch (ending.kind) {
    case "stopped":
      return "stopped";
    case "refused-to-start":
      return `refused to start: ${ending.why}`;
    case "crashed":
      return `crashed: ${ending.error instanceof Error ? (ending.error.stack ?? ending.error.message) : String(ending.error)}`;
  }
}
