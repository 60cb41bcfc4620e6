/** The agent's control socket: when it opens, and what bounds those who may speak to it: members of its group, by mistake or on purpose. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type ClientRequest, request } from "node:http";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import type { Reload } from "../../../src/agent/agent.ts";
import { daemonProblem } from "../../../src/agent/control/running-agent.ts";
import { askDaemon } from "../../../src/agent/control/client.ts";
import { serveControlSocket } from "../../../src/agent/control/socket.ts";
import type { StatusDocument } from "../../../src/agent/status.ts";
import { PushedClock } from "../../support/pushed-clock.ts";
import { createScene, expectOneRobot } from "../../support/service/scene.ts";
import { SteppedClock } from "../../unit/fingerprint/machine.ts";

/** As configurations have it that do not say. */
const RESYNC_MS = 60_000;

const status: StatusDocument = {
  schema_version: 1,
  state: "registered",
  healthy: true,
  summary: "",
  robot: { name: "arm-7", robot_type_id: null, view: null },
  service: { url: null },
  registration: null,
  configuration_digest: null,
  failure: null,
  findings: [],
  watching: null,
  confirmation: null,
  state_problem: null,
  daemon: null,
  identity: null,
};

/** The socket of an agent that registers at once, and whose reloads end when the test says so. */
async function serve() {
  const folder = await mkdtemp(join(tmpdir(), "control-"));
  const path = join(folder, "control.sock");
  const clock = new SteppedClock();
  const counts = { registrations: 0, reloads: 0 };
  const reload = Promise.withResolvers<Reload>();
  const socket = await serveControlSocket(
    {
      status: () => status,
      async register() {
        counts.registrations += 1;
        return status;
      },
      confirm: async () => status,
      rebind: async () => status,
      enrol: async () => status,
      reload() {
        counts.reloads += 1;
        return reload.promise;
      },
    },
    path,
    clock,
  );
  onTestFinished(async () => {
    await socket[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const ask = (method: "GET" | "POST", asked: string) => askDaemon(path, method, asked, new AbortController().signal);
  return { path, clock, counts, ask, endReload: () => reload.resolve({ reloaded: true, findings: [] }) };
}

/** Hangs up as soon as the agent has the request. */
async function askAndHangUp(path: string, hasArrived: () => boolean): Promise<void> {
  const sent: ClientRequest = request({ socketPath: path, method: "POST", path: "/reload", agent: false });
  sent.on("error", () => {});
  sent.end();
  await expect.poll(hasArrived, { interval: 2 }).toBe(true);
  sent.destroy();
}

test("a connection is for one request: of thousands in one breath one is looked at", async () => {
  const { path, counts, ask } = await serve();
  const connection = createConnection(path);
  connection.on("error", () => {});
  connection.resume();
  connection.write("POST /register HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50_000));
  await new Promise((resolve) => connection.once("close", resolve));
  expect(counts.registrations).toBe(1);
  expect(await ask("GET", "/status")).toMatchObject({ kind: "answer", status: 200 });
});

/** The time limits of connections, moved by hand. */
function fakeTimeouts(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

test("a request that has arrived is waited for, however long the agent works on it", async () => {
  fakeTimeouts();
  const { counts, ask, endReload } = await serve();
  const answer = ask("POST", "/reload");
  while (counts.reloads === 0) await new Promise(setImmediate);
  vi.advanceTimersByTime(60_000);
  await new Promise(setImmediate);
  endReload();
  expect(await answer).toMatchObject({ kind: "answer", status: 200, body: { reloaded: true } });
  expect(vi.getTimerCount()).toBe(0);
});

test("who has not sent a request within ten seconds is sent away", async () => {
  fakeTimeouts();
  const { path } = await serve();
  const connection = createConnection(path);
  connection.on("error", () => {});
  connection.resume();
  connection.write("POST /reg");
  const closed = new Promise((resolve) => connection.once("close", resolve));
  while (vi.getTimerCount() === 0) await new Promise(setImmediate);
  vi.advanceTimersByTime(9999);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1);
  await closed;
});

test("POST /register: ten at once, then one every six seconds, and who asks too often is told so", async () => {
  const { path, clock, counts, ask } = await serve();
  for (let asked = 0; asked < 10; asked += 1) expect(await ask("POST", "/register")).toMatchObject({ status: 200 });
  const refused = await ask("POST", "/register");
  expect(refused).toMatchObject({ status: 429, body: { detail: "asked too often", retry_after_s: 6 } });
  expect(daemonProblem(refused, path)).toMatchObject({ code: "asked-too-often" });
  expect(counts.registrations).toBe(10);
  clock.step(6000);
  expect(await ask("POST", "/register")).toMatchObject({ status: 200 });
  expect(await ask("POST", "/register")).toMatchObject({ status: 429 });
  expect(counts.registrations).toBe(11);
});

test("those who hang up while the agent works on their request are bounded, and what it knows it still tells", async () => {
  const { path, counts, ask } = await serve();
  for (let asked = 1; asked <= 32; asked += 1) await askAndHangUp(path, () => counts.reloads === asked);
  expect(await ask("POST", "/reload")).toMatchObject({ status: 429 });
  expect(counts.reloads).toBe(32);
  expect(await ask("GET", "/healthz")).toMatchObject({ status: 200 });
});

test("askDaemon: a daemon that hangs is not waited for until its watchdog ends it", async () => {
  fakeTimeouts();
  const folder = await mkdtemp(join(tmpdir(), "hung-daemon-"));
  // Accepts, as the kernel does for a stopped process, and says nothing.
  const server = createServer((connection) => connection.resume());
  try {
    server.listen(join(folder, "control.sock"));
    await once(server, "listening");
    const answer = askDaemon(join(folder, "control.sock"), "GET", "/status", new AbortController().signal);
    await once(server, "connection");
    vi.advanceTimersByTime(4999);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await answer).toEqual({ kind: "failed", detail: "no answer within 5 s" });
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});

test.concurrent("a control socket that fails at the start is opened later, and logged once", async () => {
  await using scene = await createScene();
  const { robot } = scene;
  const clock = new PushedClock();
  await rm(robot.runtime_directory, { recursive: true });
  await writeFile(robot.runtime_directory, "in the way");
  await using daemon = await robot.start({}, clock);
  await daemon.untilLogged("registered");
  await daemon.untilLogged("control-socket-failed");
  // Once more in vain, which is no news.
  clock.push(RESYNC_MS);
  await rm(robot.runtime_directory);
  await expect
    .poll(() => {
      clock.push(RESYNC_MS);
      return daemon.logged("control-socket-opened").length;
    })
    .toBe(1);
  await expectOneRobot(scene, daemon);
  expect(daemon.logged("control-socket-failed")).toMatchObject([{ level: "warn", code: "EEXIST" }]);
  expect(daemon.logged("control-socket-opened")).toHaveLength(1);
});
