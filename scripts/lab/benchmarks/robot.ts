/** The setup of the measurements: a robot in a temporary folder, a minimal service, a service manager, and the agent as released. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { createIdentityFiles } from "../../../src/agent/identity/identity-files.ts";
import { createKey } from "../../../src/agent/identity/key.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { endProcess, endWithScript, scratchFolder } from "../../support/end-of-script.ts";

/** The agent's default settle time. */
export const SETTLE_MS = 500;
const DAY_S = 24 * 60 * 60;
/** Lifetime of the credential. */
const TERMS = {
  credential_expires_at: new Date(Date.now() + DAY_S * 1000).toISOString(),
  renew_after_s: 0.6 * DAY_S,
};
/** After this time without a change a file is trusted without waiting. */
const QUIET_MS = SETTLE_MS + 250;
const PATIENCE_MS = 60_000;

/** A registration request and its arrival on the clock of `nowMs`. */
export interface Registration {
  readonly at_ms: number;
  readonly configurationDigest: string;
}

/** Accepts every registration and records its arrival; also accepts heartbeats. */
export interface Listener extends AsyncDisposable {
  readonly url: string;
  readonly registrations: readonly Registration[];
  /** Resolves with the `count`-th registration since the start. */
  arrived(count: number): Promise<Registration>;
}

export interface Robot extends AsyncDisposable {
  readonly folder: string;
  /** Configuration files, in digest order. */
  readonly paths: readonly string[];
  /** The value of NODE_COMPILE_CACHE. */
  readonly cache: string;
  /** Starts the daemon; returns at once. */
  start(environment?: Readonly<Record<string, string>>): Daemon;
  /** Gives the robot its own credential, so that it sends heartbeats. */
  enroll(url: string): Promise<void>;
  /** Removes the state, so that the next start is a first one. */
  forget(): Promise<void>;
  /** Runs a first start up to its registration, which fills state and compile cache. @returns exec → POST, in milliseconds. */
  register(listener: Listener, environment?: Readonly<Record<string, string>>): Promise<number>;
}

export interface Daemon extends AsyncDisposable {
  readonly processId: number;
  /** Time right before the process was created, on the clock of `nowMs`. */
  readonly startedMs: number;
  output(): string;
  stop(): Promise<void>;
}

/** A datagram as received by the service manager, with a time on the clock of `nowMs`. */
export interface Notification {
  readonly at_ms: number;
  readonly text: string;
}

export interface NotifySocket extends AsyncDisposable {
  /** The value of NOTIFY_SOCKET. */
  readonly path: string;
  /** Resolves with the first datagram after `sinceMs` that contains the assignment. */
  received(assignment: string, sinceMs: number): Promise<Notification>;
}

/** Two files, as on a bimanual robot. */
export const smallFiles = {
  "left.yaml": "can_channel: can_left\njoint_offsets_deg: [0.0, 0.2, -0.1, 0.0, 0.3, 0.0]\n",
  "right.yaml": "can_channel: can_right\njoint_offsets_deg: [0.1, 0.0, 0.0, -0.2, 0.0, 0.0]\n",
};

/** CLOCK_MONOTONIC, which all processes of a machine share. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export async function startListener(): Promise<Listener> {
  const registrations: Registration[] = [];
  const server = createServer((request, response) => {
    const atMs = nowMs();
    void readAll(request).then((body) => {
      // A heartbeat, or the request for the robot's name.
      if (request.method !== "POST") {
        const own = { ...TERMS, id: "rob_0", name: "bench" };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(own));
        return;
      }
      const { configuration_digest: configurationDigest, ...robot } = JSON.parse(body) as Record<string, string>;
      registrations.push({ at_ms: atMs, configurationDigest: String(configurationDigest) });
      const view = { id: "rob_0", site: null, labels: {}, ...robot, created_at: "2026-01-01T00:00:00Z" };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ robot: view }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    registrations,
    arrived: (count) => until(() => registrations[count - 1], `registration ${count}`),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * @param files name below the robot's folder → content, or number of random bytes. The call waits until they have settled, so that hashing
 * starts at once.
 */
export async function createRobot(
  bundle: string,
  url: string,
  files: Readonly<Record<string, string | number>>,
): Promise<Robot> {
  const folder = scratchFolder("robot-policy-bench-");
  const path = (name: string) => join(folder, name);
  const state = path("state");
  for (const name of ["state", "run", "cache", "files"]) await mkdir(path(name), { mode: 0o750 });
  const paths = Object.keys(files).map((name) => path(join("files", name)));
  for (const [name, content] of Object.entries(files)) {
    if (typeof content === "string") await writeFile(path(join("files", name)), content);
    else await writeNoise(path(join("files", name)), content);
  }
  await writeFile(path("api-key"), "sk_bench_0123456789abcdef\n", { mode: 0o600 });
  await writeFile(
    path("robot-manifest.yaml"),
    `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:\n${paths.map((each) => `  - ${each}\n`).join("")}`,
  );
  await writeFile(
    path("config.yaml"),
    `service:\n  url: ${url}\n  key_file: ${path("api-key")}\nrobot:\n  name: bench\n  region: eu-central-1\n`,
  );
  await sleep(QUIET_MS);
  // As systemd says it to the unit's program.
  const folders = { CONFIGURATION_DIRECTORY: folder, STATE_DIRECTORY: state, RUNTIME_DIRECTORY: path("run") };
  const robot: Robot = {
    folder,
    paths,
    cache: path("cache"),
    start: (environment = {}) => startDaemon([bundle, "run"], { ...folders, ...environment }),
    async enroll(serviceUrl) {
      const now = new Date();
      const machineId = await systemMachine({}, process.pid).identity.machine();
      const identity = createIdentityFiles(systemFiles, state);
      const key = createKey(systemRandom, serviceUrl, machineId, now.getTime());
      await identity.saveKey(key);
      await identity.saveCredential({
        ...TERMS,
        public_key: key.public_key,
        robot_id: "rob_0",
        robot_name: "bench",
        installation_id: "rinst_0",
        installation_token: "rps_robot_0123456789abcdefghijklmnopqr",
        issued_at: now.toISOString(),
      });
    },
    forget: () => rm(join(state, "registration.json"), { force: true }),
    async register(listener, environment = { NODE_COMPILE_CACHE: path("cache") }) {
      const count = listener.registrations.length + 1;
      await robot.forget();
      await using daemon = robot.start(environment);
      const { at_ms: atMs } = await listener.arrived(count);
      await until(() => (existsSync(join(state, "registration.json")) ? true : undefined), "the state");
      await daemon.stop();
      return atMs - daemon.startedMs;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
  return robot;
}

async function writeNoise(path: string, sizeBytes: number): Promise<void> {
  const block = randomBytes(Math.min(sizeBytes, 1024 * 1024));
  const file = await open(path, "w");
  for (let written = 0; written < sizeBytes; written += block.length) {
    await file.write(block, 0, Math.min(block.length, sizeBytes - written));
  }
  await file.close();
}

function startDaemon(args: readonly string[], environment: Readonly<Record<string, string>>): Daemon {
  const startedMs = nowMs();
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: bareEnvironment(environment),
  });
  endWithScript(child);
  const ended = once(child, "exit");
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const daemon: Daemon = {
    processId: child.pid ?? 0,
    startedMs,
    output: () => output,
    async stop() {
      if (child.exitCode !== null) throw new Error(`the agent ended with ${child.exitCode}: ${output}`);
      child.kill("SIGTERM");
      await ended;
    },
    async [Symbol.asyncDispose]() {
      await endProcess(child);
    },
  };
  return daemon;
}

const RECEIVER = `
import socket, sys, time
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print("listening", flush=True)
while True:
    data = receiver.recv(65536)
    print(time.monotonic_ns(), data.decode().replace("\\n", " "), flush=True)
`;

/**
 * Opens the service manager's end of NOTIFY_SOCKET. Python holds it, because Node has no Unix datagram sockets.
 *
 * @returns null if Python is missing.
 */
export async function openNotifySocket(folder: string): Promise<NotifySocket | null> {
  const path = join(folder, "notify.sock");
  const child = spawn("python3", ["-c", RECEIVER, path], { stdio: ["ignore", "pipe", "inherit"] });
  endWithScript(child);
  const isThere = await Promise.race([once(child, "spawn").then(() => true), once(child, "error").then(() => false)]);
  if (!isThere) return null;
  const notifications: Notification[] = [];
  const lines = createInterface(child.stdout);
  const [greeting] = await once(lines, "line");
  if (greeting !== "listening") throw new Error(`the receiver said ${greeting}`);
  lines.on("line", (line) => {
    const [stamp = "", ...rest] = line.split(" ");
    notifications.push({ at_ms: Number(stamp) / 1e6, text: rest.join(" ") });
  });
  return {
    path,
    received: (assignment, sinceMs) =>
      until(
        () => notifications.find(({ at_ms: atMs, text }) => atMs > sinceMs && text.split(" ").includes(assignment)),
        assignment,
      ),
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

/** The environment of a unit, without the user's variables. */
export function bareEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", ...more };
}

/** Polls at short intervals until there is a result. */
export async function until<T>(look: () => T | undefined, awaited: string): Promise<T> {
  const deadlineMs = nowMs() + PATIENCE_MS;
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    if (nowMs() > deadlineMs) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${awaited}`);
    await sleep(5);
  }
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
