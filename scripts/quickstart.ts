/** The quick start: a service, a key, an example robot, one registration, one edit, one re-registration. */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import * as z from "zod";

import { askDaemon } from "../src/agent/control/client.ts";
import { buildConsole } from "./build-console.ts";
import { endWithScript, scratchFolder } from "./support/end-of-script.ts";
import { readFlags } from "./support/flags.ts";

const root = join(import.meta.dirname, "..");
const PATIENCE_MS = 30_000;

/** The used part of the agent's answer. */
const statusSchema = z.object({
  state: z.string(),
  registration: z.object({ configuration_digest: z.string(), registered_at: z.string() }).nullable(),
  daemon: z.object({ attempts: z.number() }).nullable(),
});

const USAGE = `Usage: scripts/quickstart [--once]

Starts a service and an agent on this machine, registers an example robot, edits its configuration, and sees it registered again.

  --once  end then, instead of staying up to be looked at
  --help  show this`;

const options = readFlags(USAGE, { once: { type: "boolean", default: false } });

// The reader has exited, as with `| head`.
process.stdout.on("error", () => process.exit(1));
const folder = scratchFolder("robot-policy-quickstart-");
const paths = {
  config: join(folder, "config.yaml"),
  manifest: join(folder, "robot-manifest.yaml"),
  left: join(folder, "yam_left.yaml"),
  right: join(folder, "yam_right.yaml"),
  key: join(folder, "api-key"),
  data: join(folder, "service"),
  state: join(folder, "state"),
  runtime: join(folder, "run"),
  serviceLog: join(folder, "service.log"),
  agentLog: join(folder, "agent.log"),
};
const folders = ["--config", paths.config, "--state-dir", paths.state, "--runtime-dir", paths.runtime];

try {
  await walkThrough();
  process.exit(0);
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  for (const path of [paths.agentLog, paths.serviceLog]) console.error(await readFile(path, "utf8").catch(() => ""));
  process.exit(1);
}

async function walkThrough(): Promise<void> {
  step("Start a robot policy service on this machine");
  await buildConsole(join(root, "dist/console"));
  const { service, url } = await startService();
  say(`it answers at ${url}, keeps its data in ${paths.data}, and wrote an API key to ${paths.key}`);

  step("Write an example robot: two YAM arms and their two configuration files");
  await writeRobot(url);
  say(`configuration  ${paths.config}`);
  say(`manifest       ${paths.manifest}`);
  say(`files          ${paths.left}, ${paths.right}`);

  step("Register it once: robot-policy-agent --setup");
  await show("agent", "--setup", ...folders);

  step("Start the agent: robot-policy-agent run");
  const agent = start("agent", "run", ...folders);
  const before = await until((status) => status.state === "registered" && status.daemon !== null);
  say(`watching; nothing changed, so nothing was sent (${before.daemon?.attempts} requests)`);

  step(`Edit ${paths.left} as an editor does: write a new file, rename it over the old one`);
  const editedAtMs = performance.now();
  await writeFile(`${paths.left}.swp`, `${await readFile(paths.left, "utf8")}home_offset_deg: 1.5 # recalibrated\n`);
  await rename(`${paths.left}.swp`, paths.left);
  const after = await until(({ state, registration }) => {
    return state === "registered" && registration?.configuration_digest !== before.registration?.configuration_digest;
  });
  say(`re-registered ${Math.round(performance.now() - editedAtMs)} ms later, settle time of 500 ms included`);
  say(`before  ${before.registration?.configuration_digest}`);
  say(`after   ${after.registration?.configuration_digest}`);

  step("Ask the service what it holds: robot-policy robots list");
  await show("operator", "robots", "list", "--url", url, "--key-file", paths.key);

  if (options.once) {
    step("Done, and everything taken away again. Your own robot: README.md, Install on a robot");
    return;
  }
  step("It stays up: edit the files above, and see each re-registration here");
  say(`open ${url} in a browser: the console; sign in with the key that  cat ${paths.key}  prints`);
  say(`npm run --silent agent -- status ${folders.join(" ")}`);
  say(`npm run --silent agent -- digest --explain ${folders.join(" ")}`);
  say(`npm run --silent operator -- robots list --url ${url} --key-file ${paths.key}`);
  say(`curl -H "Authorization: Bearer $(cat ${paths.key})" ${url}/v1/robots`);
  say(`logs: ${paths.agentLog}, ${paths.serviceLog}`);
  say("Ctrl-C stops everything and removes the folder.");
  await Promise.race([once(service, "exit"), once(agent, "exit"), tellRegistrations(after.registration)]);
  throw new Error("the service or the agent ended by itself");
}

async function startService(): Promise<{ readonly service: ChildProcess; readonly url: string }> {
  const service = start(
    "service",
    "serve",
    "--data",
    paths.data,
    "--listen",
    "127.0.0.1:0",
    "--bootstrap-key-file",
    paths.key,
  );
  if (service.stdout === null) throw new Error("the service has no output");
  const [line] = await Promise.race([
    once(createInterface(service.stdout), "line"),
    once(service, "exit").then(() => {
      throw new Error("the service ended before it answered");
    }),
  ]);
  const { url } = JSON.parse(String(line)) as { url: string };
  return { service, url };
}

async function writeRobot(url: string): Promise<void> {
  await mkdir(paths.state);
  await mkdir(paths.runtime);
  await writeFile(paths.left, "can_channel: can_left\njoint_offsets_deg: [0.0, 0.2, -0.1, 0.0, 0.3, 0.0]\n");
  await writeFile(paths.right, "can_channel: can_right\njoint_offsets_deg: [0.1, 0.0, 0.0, -0.2, 0.0, 0.0]\n");
  await writeFile(
    paths.manifest,
    `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:\n  - ${paths.left}\n  - ${paths.right}\n`,
  );
  await writeFile(
    paths.config,
    [
      "service:",
      `  url: ${url}`,
      `  key_file: ${paths.key}`,
      "robot:",
      "  name: quickstart-{hostname}",
      "  region: eu-central-1",
      "  site: workbench",
      "  labels: {line: demo}",
      `manifest: ${paths.manifest}`,
      "log: {format: text}",
      "",
    ].join("\n"),
  );
}

type Status = z.infer<typeof statusSchema>;

/** Says each registration that follows, until the process ends. */
async function tellRegistrations(first: Status["registration"]): Promise<never> {
  for (let last = first; ; await sleep(200)) {
    const now = (await readStatus(AbortSignal.timeout(PATIENCE_MS)))?.registration ?? null;
    if (now === null || now.registered_at === last?.registered_at) continue;
    say(`re-registered at ${now.registered_at} with ${now.configuration_digest}`);
    last = now;
  }
}

/** The agent's answer, as `robot-policy-agent status` asks for it; null for none. */
async function readStatus(signal: AbortSignal): Promise<Status | null> {
  const answer = await askDaemon(join(paths.runtime, "control.sock"), "GET", "/status", signal);
  return answer.kind === "answer" ? statusSchema.parse(answer.body) : null;
}

/** Polls the agent until it reaches the state. */
async function until(isAwaited: (status: Status) => boolean): Promise<Status> {
  const tooLate = AbortSignal.timeout(PATIENCE_MS);
  for (;;) {
    const status = await readStatus(tooLate);
    if (status !== null && isAwaited(status)) return status;
    if (tooLate.aborted) throw new Error(`the agent did not reach the state within ${PATIENCE_MS / 1000} s`);
    await sleep(50);
  }
}

function start(program: "agent" | "service", ...args: string[]): ChildProcess {
  const log = openSync(program === "agent" ? paths.agentLog : paths.serviceLog, "a");
  const child = spawnProgram(program, args, ["ignore", "pipe", log]);
  closeSync(log);
  return child;
}

/** Prints a command and runs it. */
async function show(program: "agent" | "operator", ...args: string[]): Promise<void> {
  const [code] = await once(spawnProgram(program, args, ["ignore", "inherit", "inherit"]), "exit");
  if (code !== 0) throw new Error(`${program} ${args[0]} ended with ${code}`);
}

function spawnProgram(program: string, args: readonly string[], stdio: StdioOptions): ChildProcess {
  const child = spawn(process.execPath, ["--disable-sigusr1", join(root, `src/${program}.ts`), ...args], { stdio });
  endWithScript(child);
  return child;
}

function step(text: string): void {
  console.log(`\n\u25B6 ${text}`);
}

function say(text: string): void {
  console.log(`  ${text}`);
}
