import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { runAgentProgram } from "../../../src/agent/program.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import { endWithTest } from "../programs/children.ts";
import { runInProcess } from "../programs/in-process.ts";
import { AGENT_PROGRAM, COMPILE_CACHE } from "../programs/programs-built.ts";
import { showOnFailure } from "../run/outputs.ts";
import { PATIENCE_MS } from "../run/patience.ts";
import { type Daemon, type DaemonProcess, startDaemon, startDaemonProcess } from "./daemon.ts";
import { digestOfFiles } from "./digest.ts";

export { eventually } from "../eventually.ts";

/** Short, to keep tests fast; long enough to observe the wait. */
export const SETTLE_MS = 150;

export interface RobotOptions {
  readonly service_url: string;
  readonly key: string;
  readonly name?: string;
  /** Path below the robot's folder → content, in digest order. */
  readonly files?: Readonly<Record<string, string>>;
  /** YAML lines that replace the `watch:` block. */
  readonly watch?: string;
  /** Additional lines of the `service:` block, indented by two spaces. */
  readonly service?: string;
}

/** A robot computer's folder: configuration, manifest, configuration files, state. Removed on disposal. */
export interface Robot extends AsyncDisposable {
  readonly folder: string;
  readonly config_path: string;
  readonly manifestPath: string;
  readonly keyPath: string;
  readonly state_directory: string;
  readonly runtime_directory: string;
  readonly socket_path: string;
  /** The program with its folders, as hints name it. */
  readonly program: string;
  /** Paths of the configuration files, in digest order. */
  readonly paths: readonly string[];
  path(name: string): string;
  /** Runs a command of the agent in this process and waits for its end. */
  run(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<CommandResult>;
  /**
   * Runs a command of the agent in a child process, which is killed if it does not end.
   *
   * @param through command prefix such as `setpriv --reuid 65534`. It must end in exec(2), so that there is only one process.
   */
  runProcess(
    args: readonly string[],
    environment?: Readonly<Record<string, string>>,
    through?: readonly string[],
  ): Promise<CommandResult>;
  /** Starts the daemon in this process. It sleeps by `clock`. */
  start(environment?: Readonly<Record<string, string>>, clock?: Clock): Promise<Daemon>;
  /** Starts the daemon in a child process: for tests of processes, users, disks and limits. */
  startProcess(environment?: Readonly<Record<string, string>>, through?: readonly string[]): Promise<DaemonProcess>;
  /** Digest of the current files. */
  digest(): Promise<string>;
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Synchronous writes: creating hundreds of robots would otherwise use a thread for each small file. */
export async function createRobot(options: RobotOptions): Promise<Robot> {
  const folder = mkdtempSync(join(tmpdir(), "robot-"));
  const path = (name: string) => join(folder, name);
  const files = options.files ?? { "left.yaml": "offset: 1\n", "right.json": '{"offset": 2}\n' };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), content);
  }
  const paths = Object.keys(files).map(path);
  const robot = {
    folder,
    config_path: path("config.yaml"),
    manifestPath: path("robot-manifest.yaml"),
    keyPath: path("api-key"),
    state_directory: path("state"),
    runtime_directory: path("run"),
    socket_path: path("run/control.sock"),
    paths,
    path,
  };
  mkdirSync(robot.state_directory);
  mkdirSync(robot.runtime_directory);
  writeFileSync(robot.keyPath, `${options.key}\n`, { mode: 0o600 });
  writeFileSync(robot.manifestPath, manifestOf(paths));
  writeFileSync(robot.config_path, configurationOf(options, robot));
  // The last flag wins, so the test's own arguments come last.
  const folders = [
    "--config",
    robot.config_path,
    "--state-dir",
    robot.state_directory,
    "--runtime-dir",
    robot.runtime_directory,
  ];
  // As systemd tells them to the unit's program, which has no flags.
  const places = {
    CONFIGURATION_DIRECTORY: folder,
    STATE_DIRECTORY: robot.state_directory,
    RUNTIME_DIRECTORY: robot.runtime_directory,
  };
  return {
    ...robot,
    program: ["robot-policy-agent", ...folders].join(" "),
    run: ([command = "", ...args], environment = {}) => runAgent([command, ...folders, ...args], environment),
    runProcess: ([command = "", ...args], environment = {}, through = []) =>
      runToEnd([...through, process.execPath, AGENT_PROGRAM, command, ...folders, ...args], environment),
    start: async (environment = {}, clock) => startDaemon(robot.socket_path, { ...places, ...environment }, clock),
    startProcess: async (environment = {}, through = []) =>
      startDaemonProcess([...through, process.execPath, AGENT_PROGRAM, "run"], robot.socket_path, {
        ...places,
        ...environment,
      }),
    digest: () => digestOfFiles(...paths),
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A manifest that refers to a robot type by id and lists these files. */
export function manifestOf(paths: readonly string[]): string {
  const listed = paths.map((path) => `\n  - ${path}`).join("");
  return `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:${listed === "" ? " []" : listed}\n`;
}

export function configurationOf(options: RobotOptions, robot: Pick<Robot, "keyPath" | "manifestPath">): string {
  return [
    "service:",
    `  url: ${options.service_url}`,
    `  key_file: ${robot.keyPath}`,
    ...(options.service === undefined ? [] : [options.service]),
    "robot:",
    `  name: ${options.name ?? "arm-7"}`,
    "  region: eu-central-1",
    "  site: hall-2",
    "  labels: {line: a}",
    `manifest: ${robot.manifestPath}`,
    `watch: ${options.watch ?? `{settle_ms: ${SETTLE_MS}}`}`,
    "log: {level: debug}",
    "",
  ].join("\n");
}

/** Edits a file in place. The replaced text must exist. */
export async function replaceIn(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, "utf8");
  if (!text.includes(from)) throw new Error(`${path} does not contain ${JSON.stringify(from)}`);
  await writeAtOnce(path, text.replace(from, to));
}

/**
 * Overwrites a file with one synchronous write. `writeFile` of node:fs/promises truncates the file first and writes some turns of the event
 * loop later. On a busy machine that can exceed the settle time, and the agent would correctly register an empty file.
 */
export async function writeAtOnce(path: string, content: string | Uint8Array): Promise<void> {
  writeFileSync(path, content);
}

/** Runs `robot-policy-agent ARGUMENTS` in this process. */
export async function runAgent(
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const title = `robot-policy-agent ${argv.join(" ")}`;
  const { exitCode, out, err } = await runInProcess(title, (own) => runAgentProgram(argv, own), { environment });
  return { code: exitCode, stdout: out, stderr: err };
}

function runToEnd(argv: readonly string[], environment: Readonly<Record<string, string>>): Promise<CommandResult> {
  const [program = "", ...args] = argv;
  return new Promise((resolve) => {
    const options = {
      env: { PATH: process.env["PATH"], ...COMPILE_CACHE, ...environment },
      maxBuffer: 64 * 1024 * 1024,
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
    } as const;
    const child = execFile(program, args, options, (_error, stdout, stderr) => {
      showOnFailure(argv.join(" "), () => stdout + stderr)();
      resolve({ code: child.exitCode, stdout, stderr });
    });
    endWithTest(child);
  });
}

/** Parsed bodies of the POST requests at a fault proxy. */
export function setupBodies(
  requests: readonly { readonly method: string; readonly body: string }[],
): { configuration_digest: string; name: string }[] {
  return requests
    .filter(({ method }) => method === "POST")
    .map(({ body }) => JSON.parse(body) as { configuration_digest: string; name: string });
}
