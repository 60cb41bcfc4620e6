/** The agent's control socket: when it opens, and the limits on clients, which are members of its group. */
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createConnection, createServer } from "node:net";
import { dirname, join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import type { Reload } from "../../../src/agent/agent.ts";
import { askDaemon } from "../../../src/agent/control/client.ts";
import { type ControlledAgent, createControlSocket } from "../../../src/agent/control/socket.ts";
import type { StatusDocument } from "../../../src/agent/status.ts";
import { runAgentProgram } from "../../../src/agent/program.ts";
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
  timer: null,
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
  return { debug: note, info: note, notice: note, warn: note, error: note };
}

/** Serves the socket of an agent that registers at once and whose reloads end when the test calls `endReload`. */
async function serve(clientLimitMs?: number) {
  const path = join(await temporaryFolder(), "control.sock");
  const counts = { registrations: 0, reloads: 0 };
  const reload = Promise.withResolvers<Reload>();
  const socket = createControlSocket(path, logTo([]), clientLimitMs);
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
  onTestFinished(close);
  const ask = (method: "GET" | "POST", target: string) => askDaemon(path, method, target, new AbortController().signal);
  return { path, counts, ask, close, endReload: () => reload.resolve({ reloaded: true, findings: [] }) };
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

test("an incomplete request → closed in time; a complete one → no limit while the agent works on it", async () => {
  const { path, counts, ask, endReload } = await serve(20);
  const answer = ask("POST", "/reload");
  await expect.poll(() => counts.reloads).toBe(1);
  for (const text of ["", "POST /reg"]) {
    const connection = createConnection(path);
    connection.resume().write(text);
    await once(connection, "close");
  }
  endReload();
  expect(await answer).toMatchObject({ kind: "answer", status: 200, body: { reloaded: true } });
});

test("the agent stops during a request → the client says so", async () => {
  const { counts, ask, close } = await serve();
  const answer = ask("POST", "/reload");
  await expect.poll(() => counts.reloads).toBe(1);
  await close();
  expect(await answer).toMatchObject({ kind: "failed", detail: expect.stringContaining("it stops") });
});

test("askDaemon: the daemon hangs → fails after 5 s", async () => {
  const folder = await temporaryFolder();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  // Accepts connections, as the kernel does for a stopped process, and does not answer.
  const server = createServer((connection) => connection.resume());
  onTestFinished(() => void server.close());
  server.listen(join(folder, "control.sock"));
  await once(server, "listening");
  const answer = askDaemon(join(folder, "control.sock"), "GET", "/status", new AbortController().signal);
  await once(server, "connection");
  vi.advanceTimersByTime(4999);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await answer).toEqual({ kind: "failed", detail: "no answer within 5 s" });
  expect(vi.getTimerCount()).toBe(0);
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
