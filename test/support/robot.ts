import type { ChildProcess } from "node:child_process";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request as sendRequest } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { StatusDocument } from "../../src/agent/status.ts";
import { askDaemon } from "../../src/agent/control-client.ts";
import { runAgentProgram } from "../../src/cli/run-agent-program.ts";
import { endWithTest, startProgram } from "./children.ts";
import { runInProcess } from "./in-process.ts";
import { showOnFailure } from "./outputs.ts";
import { PATIENCE_MS } from "./patience.ts";
import { AGENT_PROGRAM, COMPILE_CACHE } from "./programs-built.ts";

/** Short, so that tests are; long enough to see that it is waited for. */
export const SETTLE_MS = 150;

export interface RobotOptions {
  readonly service_url: string;
  readonly key: string;
  readonly name?: string;
  /** Path below the robot's folder → content, in digest order. */
  readonly files?: Readonly<Record<string, string>>;
  /** Lines of YAML in place of the `watch:` block. */
  readonly watch?: string;
  /** More lines of the `service:` block, indented by two spaces. */
  readonly service?: string;
}

/** A robot computer's folder: configuration, manifest, configuration files, state. Removed in the end. */
export interface Robot extends AsyncDisposable {
  readonly folder: string;
  readonly config_path: string;
  readonly manifest_path: string;
  readonly key_path: string;
  readonly state_directory: string;
  readonly runtime_directory: string;
  readonly socket_path: string;
  /** Paths of the configuration files, in digest order. */
  readonly paths: readonly string[];
  path(name: string): string;
  /** Runs a command of the agent to its end, in this process. */
  run(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<CommandResult>;
  /**
   * The same in a process of its own, which is killed when it does not end.
   *
   * @param through words before the agent's own, such as `setpriv --reuid 65534`. They end in exec(2), so that the process stays one.
   */
  runProcess(
    args: readonly string[],
    environment?: Readonly<Record<string, string>>,
    through?: readonly string[],
  ): Promise<CommandResult>;
  start(environment?: Readonly<Record<string, string>>, through?: readonly string[]): Promise<Daemon>;
  /** `sha256sum … | cut -c1-64 | sha256sum` over the files as they are now. */
  digest(): Promise<string>;
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `robot-policy-agent run` as a process. */
export interface Daemon extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly process_id: number;
  /** Everything it wrote, mostly its log. */
  output(): string;
  /** Its log lines of one event so far, parsed. */
  logged(event: string): readonly Readonly<Record<string, unknown>>[];
  /** The same once there is one: its status may tell of what happened before its log does. */
  untilLogged(event: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  status(): Promise<StatusDocument>;
  /** The answer of its control socket as it stands. */
  ask(method: "GET" | "POST", path: string): Promise<string>;
  /** Has it look at everything once more: what it has not sent after that, it does not send until something changes. */
  lookAgain(): Promise<void>;
  /** Resolves with the first status for which the condition holds. */
  until(condition: (status: StatusDocument) => boolean | Promise<boolean>): Promise<StatusDocument>;
  /** Resolves with the exit code, or the signal's name. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

export async function createRobot(options: RobotOptions): Promise<Robot> {
  const folder = await mkdtemp(join(tmpdir(), "robot-"));
  const path = (name: string) => join(folder, name);
  const files = options.files ?? { "left.yaml": "offset: 1\n", "right.json": '{"offset": 2}\n' };
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), content);
  }
  const paths = Object.keys(files).map(path);
  const robot = {
    folder,
    config_path: path("config.yaml"),
    manifest_path: path("robot-manifest.yaml"),
    key_path: path("api-key"),
    state_directory: path("state"),
    runtime_directory: path("run"),
    socket_path: path("run/control.sock"),
    paths,
    path,
  };
  await mkdir(robot.state_directory);
  await mkdir(robot.runtime_directory);
  await writeFile(robot.key_path, `${options.key}\n`, { mode: 0o600 });
  await writeFile(robot.manifest_path, manifestOf(paths));
  await writeFile(robot.config_path, configurationOf(options, robot));
  // The last flag counts: what a test says itself stands behind.
  const folders = [
    "--config",
    robot.config_path,
    "--state-dir",
    robot.state_directory,
    "--runtime-dir",
    robot.runtime_directory,
  ];
  return {
    ...robot,
    run: ([command = "", ...args], environment = {}) => runAgent([command, ...folders, ...args], environment),
    runProcess: ([command = "", ...args], environment = {}, through = []) =>
      runToEnd([...through, process.execPath, AGENT_PROGRAM, command, ...folders, ...args], environment),
    start: (environment = {}, through = []) =>
      startDaemon([...through, process.execPath, AGENT_PROGRAM, "run", ...folders], robot.socket_path, environment),
    digest: () => digestByCoreutils(paths),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A manifest by id that lists these files. */
export function manifestOf(paths: readonly string[]): string {
  const listed = paths.map((path) => `\n  - ${path}`).join("");
  return `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:${listed === "" ? " []" : listed}\n`;
}

export function configurationOf(options: RobotOptions, robot: Pick<Robot, "key_path" | "manifest_path">): string {
  return [
    "service:",
    `  url: ${options.service_url}`,
    `  key_file: ${robot.key_path}`,
    ...(options.service === undefined ? [] : [options.service]),
    "robot:",
    `  name: ${options.name ?? "arm-7"}`,
    "  region: eu-central-1",
    "  site: hall-2",
    "  labels: {line: a}",
    `manifest: ${robot.manifest_path}`,
    `watch: ${options.watch ?? `{settle_ms: ${SETTLE_MS}}`}`,
    "log: {level: debug}",
    "",
  ].join("\n");
}

/** Resolves once the condition holds; looks again at intervals that grow with the wait, for a bounded time. */
export async function eventually<T>(look: () => Promise<T | undefined>, awaited: string): Promise<T> {
  const startedMs = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > PATIENCE_MS) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${awaited}`);
    await sleep(Math.min(20 + waitedMs / 10, 200));
  }
}

/** Edits a file in place; what is replaced must be there. */
export async function replaceIn(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, "utf8");
  if (!text.includes(from)) throw new Error(`${path} does not contain ${JSON.stringify(from)}`);
  await writeAtOnce(path, text.replace(from, to));
}

/**
 * Writes a file in place, in one go. `writeFile` of node:fs/promises empties it first, and writes some turns of the event loop later:
 * on a busy machine that is longer than an agent lets a file hold still, and it rightly takes it for an empty one.
 */
export async function writeAtOnce(path: string, content: string | Uint8Array): Promise<void> {
  writeFileSync(path, content);
}

async function startDaemon(
  words: readonly string[],
  socket_path: string,
  environment: Readonly<Record<string, string>>,
): Promise<Daemon> {
  const { child, output, ended } = startProgram(words, environment);
  const ask = async () => {
    const end = child.exitCode ?? child.signalCode;
    if (end !== null) throw new Error(`the daemon ended with ${end}: ${output()}`);
    const answer = await askDaemon(socket_path, "GET", "/status", new AbortController().signal);
    return answer.kind === "answer" ? (answer.body as StatusDocument) : undefined;
  };
  const daemon: Daemon = {
    child,
    process_id: child.pid ?? 0,
    output,
    logged: (event) => parseLog(output()).filter((line) => line["event"] === event),
    async untilLogged(event) {
      await eventually(async () => daemon.logged(event)[0], `a log line ${event}`);
      return daemon.logged(event);
    },
    ask: (method, path) => askSocket(socket_path, method, path),
    async lookAgain() {
      await askSocket(socket_path, "POST", "/reload");
    },
    status: () => eventually(ask, "an answer of the daemon"),
    async until(condition) {
      let last: StatusDocument | undefined;
      try {
        return await eventually(async () => {
          last = await ask();
          return last !== undefined && (await condition(last)) ? last : undefined;
        }, "the awaited status");
      } catch (error) {
        throw new Error(`${String(error)}\nlast status: ${JSON.stringify(last, null, 2)}`, { cause: error });
      }
    },
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
    async [Symbol.asyncDispose]() {
      await daemon.stop("SIGKILL");
    },
  };
  return daemon;
}

function parseLog(output: string): readonly Readonly<Record<string, unknown>>[] {
  return output
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function askSocket(socketPath: string, method: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = sendRequest({ socketPath, method, path, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve(body));
    });
    request.on("error", reject).end();
  });
}

/** `robot-policy-agent WORDS` in this process. */
export async function runAgent(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const title = `robot-policy-agent ${words.join(" ")}`;
  const { exit_code, out, err } = await runInProcess(title, (own) => runAgentProgram(words, own), { environment });
  return { code: exit_code, stdout: out, stderr: err };
}

function runToEnd(words: readonly string[], environment: Readonly<Record<string, string>>): Promise<CommandResult> {
  const [program = "", ...args] = words;
  return new Promise((resolve) => {
    const options = {
      env: { PATH: process.env["PATH"], ...COMPILE_CACHE, ...environment },
      maxBuffer: 64 * 1024 * 1024,
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
    } as const;
    const child = execFile(program, args, options, (_error, stdout, stderr) => {
      showOnFailure(words.join(" "), () => stdout + stderr)();
      resolve({ code: child.exitCode, stdout, stderr });
    });
    endWithTest(child);
  });
}

/** The definition of the digest, by other people's programs. */
export function digestByCoreutils(paths: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const command = paths.length === 0 ? "sha256sum </dev/null" : 'sha256sum "$@" | cut -c1-64 | sha256sum';
    execFile("sh", ["-c", command, "sh", ...paths], (error, stdout) => {
      if (error === null) resolve(`sha256:${stdout.slice(0, 64)}`);
      else reject(error);
    });
  });
}

/** The bodies of a fault proxy's POSTs, parsed. */
export function setupBodies(
  requests: readonly { readonly method: string; readonly body: string }[],
): { configuration_digest: string; name: string }[] {
  return requests
    .filter(({ method }) => method === "POST")
    .map(({ body }) => JSON.parse(body) as { configuration_digest: string; name: string });
}
