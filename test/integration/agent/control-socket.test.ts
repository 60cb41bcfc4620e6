/** The agent's control socket: when it opens, and the limits on clients, which are members of its group. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import {
  type ClientRequest,
  createServer as createHttpServer,
  request,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import type { Reload } from "../../../src/agent/agent.ts";
import type { ControlledAgent } from "../../../src/agent/control/answers.ts";
import { askDaemon, daemonProblem } from "../../../src/agent/control/client.ts";
import { createControlSocket } from "../../../src/agent/control/socket.ts";
import type { StatusDocument } from "../../../src/agent/status.ts";
import { runAgentProgram } from "../../../src/cli/run-agent-program.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { Log } from "../../../src/platform/log/log.ts";
import { runInProcess } from "../../support/programs/in-process.ts";
import { PushedClock } from "../../support/pushed-clock.ts";
import { createScene, expectOneRobot } from "../../support/service/scene.ts";
import { temporaryFolder } from "../../unit/look/machine.ts";

/** The default of `resync_s`. */
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
  changes: null,
  registered_changes: null,
  hold: null,
  watching: null,
  confirmation: null,
  hanging: null,
  state_problem: null,
  daemon: null,
  identity: null,
};

const IDLE: ControlledAgent = {
  status: () => status,
  register: async () => status,
  confirm: async () => status,
  rebind: async () => status,
  enroll: async () => status,
  reload: async () => ({ reloaded: true, findings: [] }),
};

function logTo(events: string[]): Log {
  const note = (event: string) => void events.push(event);
  return { debug: note, info: note, warn: note, error: note };
}

/** Serves the socket of an agent that registers at once and whose reloads end when the test calls `endReload`. */
async function serve() {
  const folder = await mkdtemp(join(tmpdir(), "control-"));
  const path = join(folder, "control.sock");
  const counts = { registrations: 0, reloads: 0 };
  const reload = Promise.withResolvers<Reload>();
  const socket = createControlSocket(path, logTo([]));
  await socket.open({
    ...IDLE,
    async register() {
      counts.registrations += 1;
      return status;
    },
    reload() {
      counts.reloads += 1;
      return reload.promise;
    },
  });
  const close = () => socket[Symbol.asyncDispose]();
  onTestFinished(async () => {
    await close();
    await rm(folder, { recursive: true });
  });
  const ask = (method: "GET" | "POST", target: string) => askDaemon(path, method, target, new AbortController().signal);
  return { path, counts, ask, close, endReload: () => reload.resolve({ reloaded: true, findings: [] }) };
}

/** Sends a request and hangs up once the agent has received it. */
async function askAndHangUp(path: string, hasArrived: () => boolean): Promise<void> {
  const pending: ClientRequest = request({ socketPath: path, method: "POST", path: "/reload", agent: false });
  pending.on("error", () => {});
  pending.end();
  await expect.poll(hasArrived, { interval: 2 }).toBe(true);
  pending.destroy();
}

test("50,000 requests on one connection → the first is handled", async () => {
  const { path, counts, ask } = await serve();
  const connection = createConnection(path);
  connection.on("error", () => {});
  connection.resume();
  connection.write("POST /register HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50_000));
  await new Promise((resolve) => connection.once("close", resolve));
  expect(counts.registrations).toBe(1);
  expect(await ask("GET", "/status")).toMatchObject({ kind: "answer", status: 200 });
});

/** Replaces the timers, so that a test advances the time limits of connections. */
function fakeTimeouts(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

test("a complete request → no time limit while the agent works on it", async () => {
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

test("an incomplete request → closed after ten seconds", async () => {
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

test("the agent stops during a request → the client says so", async () => {
  const { counts, ask, close } = await serve();
  const answer = ask("POST", "/reload");
  await expect.poll(() => counts.reloads).toBe(1);
  await close();
  expect(await answer).toMatchObject({ kind: "failed", detail: expect.stringContaining("it stops") });
});

test("32 abandoned requests in progress → the next POST gets 429, GET still works", async () => {
  const { path, counts, ask } = await serve();
  for (let count = 1; count <= 32; count += 1) await askAndHangUp(path, () => counts.reloads === count);
  const refused = await ask("POST", "/reload");
  expect(refused).toMatchObject({ status: 429, body: { retry_after_s: 1 } });
  expect(daemonProblem(refused, path)).toMatchObject({ code: "asked-too-often" });
  expect(counts.reloads).toBe(32);
  expect(await ask("GET", "/healthz")).toMatchObject({ status: 200 });
});

test("askDaemon: the daemon hangs → fails after 5 s", async () => {
  fakeTimeouts();
  const folder = await mkdtemp(join(tmpdir(), "hung-daemon-"));
  // Accepts connections, as the kernel does for a stopped process, and does not answer.
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

/** A daemon that works on a POST until the test ends it. */
async function serveWork(hanging: string | null) {
  fakeTimeouts();
  const path = join(await temporaryFolder(), "control.sock");
  const work = Promise.withResolvers<ServerResponse>();
  const counts = { looks: 0 };
  await serveAnswers(path, (request, response) => {
    if (request.method === "POST") return work.resolve(response);
    // The client hangs up, so that the server knows that it has read the answer.
    response.writeHead(200, { connection: "keep-alive" }).end(JSON.stringify({ ...status, hanging }));
    request.socket.once("close", () => (counts.looks += 1));
  });
  const answer = askDaemon(path, "POST", "/reload", new AbortController().signal);
  return { counts, answer, response: await work.promise };
}

test("askDaemon: the daemon works for minutes, and its disks answer → waits", async () => {
  const { counts, answer, response } = await serveWork(null);
  for (let looks = 1; looks <= 3; looks += 1) {
    vi.advanceTimersByTime(120_000);
    while (counts.looks < looks) await new Promise(setImmediate);
  }
  response.end('{"reloaded":true}');
  expect(await answer).toEqual({ kind: "answer", status: 200, body: { reloaded: true } });
  expect(vi.getTimerCount()).toBe(0);
});

test("askDaemon: the daemon waits for a disk that hangs → fails after two minutes", async () => {
  const { answer } = await serveWork("/mnt/cell");
  vi.advanceTimersByTime(120_000);
  expect(await answer).toEqual({ kind: "failed", detail: "no answer within 120 s" });
});

test("askDaemon: the daemon ends in the middle of its answer → the client says so", async () => {
  const path = join(await temporaryFolder(), "control.sock");
  await serveAnswers(path, (_request, response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("{", () => response.destroy());
  });
  const answer = await askDaemon(path, "GET", "/status", new AbortController().signal);
  expect(answer).toMatchObject({ kind: "failed", detail: expect.stringContaining("closed the connection") });
});

test("reload: an answer that is none of this program → a problem with a remedy", async () => {
  await using scene = await createScene();
  const path = join(scene.robot.runtime_directory, "control.sock");
  await serveAnswers(path, (_request, response) => response.writeHead(404).end('{"detail":"no POST /reload here"}'));
  const { code, stderr } = await scene.robot.run(["reload"]);
  expect(code).toBe(1);
  expect(stderr).toContain("unexpected answer 404 of the daemon");
});

test("status --watch: the daemon fails for a while → says so once, and shows the status when it is back", async () => {
  const folder = await temporaryFolder();
  const answers = [JSON.stringify(status), "torn", "torn", JSON.stringify(status), "torn"];
  const ending = new AbortController();
  await serveAnswers(join(folder, "control.sock"), (_request, response) => {
    const answer = answers.shift();
    if (answer === undefined) ending.abort();
    response.end(answer);
  });
  const clock = { ...systemClock, sleep: async () => {} };
  const argv = ["status", "--watch", "--json", "--runtime-dir", folder];
  const { out, err } = await runInProcess("status", (own) => runAgentProgram(argv, own, clock), {
    signal: ending.signal,
  });
  const shown = `${JSON.stringify(status)}\n`;
  expect(out).toBe(shown + shown);
  const note = "the daemon's answer is not JSON; trying again\n";
  expect(err).toBe(note + note);
});

/** A daemon that gives these answers. */
async function serveAnswers(path: string, answer: RequestListener): Promise<void> {
  const server = createHttpServer(answer);
  onTestFinished(() => void server.close());
  server.listen(path);
  await once(server, "listening");
}

test("the socket cannot be opened twice → each failure and each success is logged once", async () => {
  const events: string[] = [];
  const path = join(await temporaryFolder(), "runtime", "control.sock");
  await using control = createControlSocket(path, logTo(events));
  for (const outage of ["first", "second"]) {
    await rm(dirname(path), { recursive: true, force: true });
    await writeFile(dirname(path), outage);
    await control.open(IDLE);
    await control.open(IDLE);
    await rm(dirname(path));
    await control.open(IDLE);
    await rm(path);
    await control.open(IDLE);
  }
  const outage = ["control-socket-failed", "control-socket-opened"];
  expect(events).toEqual([...outage, ...outage]);
});

test.concurrent("the socket cannot be opened at start, or its file is deleted → opened at the next resync", async ({
  expect,
}) => {
  await using scene = await createScene();
  const { robot } = scene;
  const clock = new PushedClock();
  await rm(robot.runtime_directory, { recursive: true });
  await writeFile(robot.runtime_directory, "in the way");
  await using daemon = await robot.start({}, clock);
  await daemon.untilLogged("registered");
  await daemon.untilLogged("control-socket-failed");
  const untilAnswered = () =>
    expect
      .poll(async () => {
        clock.push(RESYNC_MS);
        return (await robot.run(["status"])).code;
      })
      .toBe(0);
  await rm(robot.runtime_directory);
  await untilAnswered();
  await expectOneRobot(scene, daemon);
  expect(daemon.logged("control-socket-failed")).toMatchObject([{ level: "warn", code: "EEXIST" }]);
  await rm(robot.runtime_directory, { recursive: true });
  expect((await robot.run(["status"])).code).not.toBe(0);
  await untilAnswered();
});
