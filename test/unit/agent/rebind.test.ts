import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { dirname, join } from "node:path";

import { expect, test } from "vitest";

import type { CommandContext } from "../../../src/agent/commands/context.ts";
import { rebind } from "../../../src/agent/commands/rebind.ts";
import { lockState } from "../../../src/agent/control/lock.ts";
import { saveRegistration } from "../../../src/agent/registration/registration.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { EXIT, type Terminal } from "../../../src/platform/terminal.ts";
import { REGISTRATION } from "../../support/robot/registration.ts";
import { temporaryFolder } from "../look/machine.ts";

/** A registered robot without a running agent, and the disk operations of `rebind`. */
async function registeredRobot() {
  const folder = await temporaryFolder();
  const stateDir = join(folder, "state");
  await mkdir(stateDir);
  await writeFile(
    join(folder, "config.yaml"),
    'service: { url: "http://127.0.0.1:1" }\nrobot: { name: arm-7, region: eu-central-1 }\n',
  );
  await saveRegistration(systemFiles, stateDir, { ...REGISTRATION, machine: null });
  const changes: string[] = [];
  const printed: unknown[] = [];
  const files = {
    ...systemFiles,
    async rename(from: string, to: string) {
      changes.push(`rename ${from} ${to}`);
      await systemFiles.rename(from, to);
    },
    async syncDirectory(directory: string) {
      changes.push(`sync ${directory}`);
      await systemFiles.syncDirectory(directory);
    },
  };
  const shown = (value: unknown) => void printed.push(value);
  const terminal: Terminal = {
    columns: 80,
    isPiped: true,
    interactive: false,
    print: shown,
    printText: shown,
    heading: shown,
    sentence: shown,
    json: shown,
    jsonLine: shown,
    table: () => [],
    draw() {},
    note: shown,
    problem: shown,
    warning: (what, fix) => shown(`${what}: ${fix}`),
    progress() {},
    completeHint: (text) => text,
    style: (_style, text) => text,
  };
  const context: CommandContext = {
    terminal,
    machine: { ...systemMachine({}, process.pid), files },
    environment: {},
    signal: new AbortController().signal,
    onHangup() {},
    divertSignals: () => ({ [Symbol.dispose]() {} }),
    stderr: process.stderr,
    version: "0.0.0",
    processId: process.pid,
    userId: process.getuid?.() ?? 0,
  };
  const run = (sameRobot = false) =>
    rebind({ config: join(folder, "config.yaml"), stateDir, runtimeDir: folder, json: true, sameRobot }, context);
  return { folder, stateDir, files, changes, printed, run };
}

test("rebind: moves the registration aside durably, then reports it", async () => {
  const { stateDir, changes, printed, run } = await registeredRobot();
  expect(await run()).toBe(EXIT.ok);
  const kept = join(stateDir, "registration.json.rebound");
  expect(changes).toEqual([`rename ${join(stateDir, "registration.json")} ${kept}`, `sync ${stateDir}`]);
  expect(printed).toEqual([{ rebound: true, kept, was: "arm-7", status: null }]);
  expect(await readdir(stateDir)).toEqual(["registration.json.rebound"]);
  // Nothing is left to rebind.
  expect(await run()).toBe(EXIT.ok);
  expect(printed[1]).toEqual({ rebound: false, kept: null, was: null, status: null });
});

test("rebind --same-robot: the robot is registered under another name → a conflict, and nothing is moved", async () => {
  const { stateDir, changes, printed, run } = await registeredRobot();
  const { request } = REGISTRATION;
  await saveRegistration(systemFiles, stateDir, { ...REGISTRATION, request: { ...request, name: "arm-8" } });
  expect(await run(true)).toBe(EXIT.conflict);
  expect(printed[0]).toMatchObject({ rebound: false, kept: null, problem: { code: "other-name" } });
  expect(changes).toEqual([]);
});

test.each([
  ["the move", "rename", "EROFS"],
  ["to confirm the move", "syncDirectory", "EIO"],
] as const)("rebind: the disk refuses %s → reported; a second run goes on", async (_what, operation, code) => {
  const { files, printed, run } = await registeredRobot();
  const working = { ...files };
  const fail = () => Promise.reject(Object.assign(new Error("broken"), { code }));
  Object.assign(files, { [operation]: fail });
  expect(await run()).toBe(EXIT.failed);
  const fix = expect.stringMatching(/^look at the disk: df -h /);
  expect(printed[0]).toMatchObject({ rebound: false, problem: { code: "state-not-writable", fix } });
  Object.assign(files, working);
  expect(await run()).toBe(EXIT.ok);
});

/** An agent that holds the state directory and answers `POST /rebind` so. */
async function serveAgent(stateDir: string, answer: (response: ServerResponse) => Promise<unknown>) {
  const taken = await lockState(systemFiles, stateDir, process.getuid?.() ?? 0);
  if (taken.kind !== "lock") throw new Error(taken.kind);
  const agent = createServer((request, response) => {
    response.setHeader("connection", "close");
    if (request.method === "GET") response.end(JSON.stringify(STATUS));
    else void answer(response);
  });
  await once(agent.listen(join(dirname(stateDir), "control.sock")), "listening");
  return {
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await taken.lock[Symbol.asyncDispose]();
    },
  };
}

const STATUS = { schema_version: 1, state: "stopped", daemon: null, robot: { name: "arm-7", view: { name: "arm-7" } } };

test("rebind: the running agent writes its registration again → says so, and what to do", async () => {
  const { stateDir, printed, run } = await registeredRobot();
  const registration = join(stateDir, "registration.json");
  const content = await readFile(registration);
  await using _agent = await serveAgent(stateDir, async (response) => {
    await writeFile(registration, content);
    response.writeHead(409).end('{"detail":"still there"}');
  });
  expect(await run()).toBe(EXIT.failed);
  const problem = { code: "registration-rewritten", fix: "try again: robot-policy-agent rebind" };
  const kept = `${registration}.rebound`;
  expect(printed.slice(1)).toMatchObject([{ rebound: false, kept, was: null, status: null, problem }, problem]);
});

test("rebind: the running agent answers nonsense → says what it did; a second run completes it", async () => {
  const { stateDir, printed, run } = await registeredRobot();
  const statuses = [500, 200];
  await using _agent = await serveAgent(stateDir, async (response) => {
    const status = statuses.shift() ?? 500;
    response.writeHead(status).end(JSON.stringify(status === 200 ? STATUS : { detail: "later" }));
  });
  const kept = join(stateDir, "registration.json.rebound");
  expect(await run()).toBe(EXIT.failed);
  expect(printed.slice(0, 2)).toMatchObject([
    expect.stringContaining("run rebind again"),
    { rebound: false, kept, problem: { code: "daemon-failed" } },
  ]);
  printed.length = 0;
  await run();
  expect(printed[0]).toMatchObject({ rebound: true, kept: null, was: "arm-7", status: { state: "stopped" } });
});
