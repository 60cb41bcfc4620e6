/** Network and service faults: unreachable, not our service, overloaded, or failing in the middle of a request. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { describe, expect } from "vitest";

import { endWithTest } from "../../support/programs/children.ts";
import { hasProgram } from "../../support/programs/programs.ts";
import { eventually, replaceIn } from "../../support/robot/robot.ts";
import { isLong } from "../../support/run/tier.ts";
import type { Fault, FaultProxy } from "../../support/service/fault-proxy.ts";
import { test } from "../../support/service/scene-test.ts";
import { createScene, expectOneRobot, savedRegistration, storedRobots } from "../../support/service/scene.ts";

/** Wall-clock time at which a request arrived. */
function arrivalOf(proxy: FaultProxy, index: number): number {
  return performance.timeOrigin + (proxy.requests[index]?.atMs ?? Number.NaN);
}

test.concurrent("scenario 1: closed port at start → registers within one backoff step once it opens", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await proxy.refuse();
  await using daemon = await robot.start();
  await daemon.until(({ state, daemon: counts }) => state === "unreachable" && (counts?.attempts ?? 0) >= 2);
  expect(await savedRegistration(robot)).toBeNull();

  await proxy.listen();
  // An attempt in progress may already have been refused; the next one reaches the service.
  const { daemon: before } = await daemon.status();
  const { daemon: after } = await expectOneRobot(scene, daemon);
  expect((after?.attempts ?? 0) - (before?.attempts ?? 0)).toBeLessThanOrEqual(1);
});

test.concurrent("scenario 2: unknown DNS name → retried as `dns`, --setup exits 4; a corrected address → used at once", async () => {
  await using scene = await createScene({ service_url: "https://policy.invalid" });
  const { proxy, robot } = scene;
  const setup = await robot.run(["--setup"]);
  expect(setup.code).toBe(4);
  expect(setup.stderr).toMatch(/policy\.invalid.*\[service-unreachable\]/s);

  await using daemon = await robot.start();
  const { failure } = await daemon.until(({ daemon: counts }) => (counts?.attempts ?? 0) >= 2);
  expect(failure?.reason).toBe("dns");
  // status exits 4 between two attempts; during one it reports the attempt.
  await eventually(async () => (await robot.run(["status"])).code === 4 || undefined, "status to exit 4");
  expect(await savedRegistration(robot)).toBeNull();

  await replaceIn(robot.config_path, "https://policy.invalid", proxy.url);
  await expectOneRobot(scene, daemon);
});

test.concurrent("scenario 2: an answer from elsewhere, waits minutes; another proxy configured → used at once", async () => {
  await using scene = await createScene({ service: "  connect_timeout_s: 9" });
  const { proxy, robot } = scene;
  proxy.inject({ kind: "answer", status: 404 });
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "misconfigured");

  await replaceIn(robot.config_path, "connect_timeout_s: 9", "proxy: none");
  await expectOneRobot(scene, daemon);
});

test(
  "scenario 2: a port that drops connection requests (needs python3) → times out, registers once it answers",
  { concurrent: true, tags: "needs/program", skip: !hasProgram("python3") },
  async () => {
    await using scene = await createScene({ service: "  connect_timeout_s: 1" });
    const { proxy, robot } = scene;
    await proxy.refuse();
    const blackHole = await dropConnectionsAt(Number(new URL(proxy.url).port));
    await using daemon = await robot.start();
    const { failure } = await daemon.until(({ state }) => state === "unreachable");
    expect(failure?.reason).toBe("timeout");
    expect(await savedRegistration(robot)).toBeNull();

    await blackHole.end();
    await proxy.listen();
    await expectOneRobot(scene, daemon);
  },
);

describe.concurrent("scenario 2: not taken for success:", () => {
  const impostors: readonly [string, Fault][] = [
    ["a captive portal's page", html(200)],
    ["JSON of another service", json(200, { status: "ok" })],
    ["an empty 204", { kind: "answer", status: 204 }],
    ["an answer for another robot", json(200, { robot: viewOf("arm-8") })],
    ["a truncated answer", { kind: "truncate" }],
    ["a portal's 511", html(511)],
  ];

  test.for(impostors)("%s", async ([, fault], { expect }) => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    proxy.inject(fault, Number.POSITIVE_INFINITY);
    await using daemon = await robot.start();
    await daemon.until(({ state, daemon: counts }) => state === "unreachable" && (counts?.attempts ?? 0) >= 2);
    expect((await daemon.status()).registration).toBeNull();
    expect(await savedRegistration(robot)).toBeNull();

    proxy.clear();
    await expectOneRobot(scene, daemon);
  });

  test("a redirect, which is not followed; the key goes to no other server", async ({ expect }) => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    const strayRequests: string[] = [];
    const otherServer = createServer((request, response) => {
      strayRequests.push(`${request.method} ${request.url}`);
      response.end();
    });
    await once(otherServer.listen(0, "127.0.0.1"), "listening");
    const location = `http://127.0.0.1:${(otherServer.address() as AddressInfo).port}/login`;
    proxy.inject({ kind: "answer", status: 302, headers: { location } });
    proxy.inject({ kind: "answer", status: 308, headers: { location } });
    await using daemon = await robot.start();
    await proxy.arrived(2);
    await expectOneRobot(scene, daemon);
    otherServer.close();
    expect(strayRequests).toEqual([]);
  });
});

// test/unit/agent/outcome.test.ts tests the delay for every status.
describe.concurrent("retried:", () => {
  const temporaryFaults: readonly [string, Fault][] = [
    ...(isLong ? [408, 425, 429, 500, 502, 503, 504] : [429, 503]).map((status): [string, Fault] => [
      `${status}`,
      json(status, {}),
    ]),
    ["a connection that breaks before the service reads the request", { kind: "drop-before" }],
  ];

  test.for(temporaryFaults)("%s", async ([, fault], { expect }) => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    proxy.inject(fault);
    await using daemon = await robot.start();
    await expectOneRobot(scene, daemon);
    expect(proxy.requests).toHaveLength(2);
  });
});

describe.concurrent("scenario 6: Retry-After", () => {
  test.for(isLong ? [429, 503] : [503])("%i with seconds → waits that long", async (status, { expect }) => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    proxy.inject({ kind: "answer", status, headers: { "retry-after": "2" } });
    await using daemon = await robot.start();
    await expectOneRobot(scene, daemon);
    const waitedMs = arrivalOf(proxy, 1) - arrivalOf(proxy, 0);
    expect(waitedMs).toBeGreaterThanOrEqual(2000);
  });

  test("an HTTP date → no request before it", async ({ expect }) => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    const date = new Date(Date.now() + 4000).toUTCString();
    proxy.inject({ kind: "answer", status: 503, headers: { "retry-after": date } });
    await using daemon = await robot.start();
    await expectOneRobot(scene, daemon);
    expect(arrivalOf(proxy, 1)).toBeGreaterThanOrEqual(Date.parse(date));
  });

  test.for(["99999999999", new Date(Date.now() + 10 * 365 * 86_400_000).toUTCString()])(
    "absurdly long (%s) → waits one hour at most, and --setup registers at once",
    async (value, { expect }) => {
      await using scene = await createScene();
      const { proxy, robot } = scene;
      proxy.inject({ kind: "answer", status: 503, headers: { "retry-after": value } });
      await using daemon = await robot.start();
      const { failure } = await daemon.until(({ state }) => state === "unreachable");
      const waitMs = Date.parse(failure?.next_attempt_at ?? "") - Date.now();
      expect(waitMs).toBeGreaterThan(3_500_000);
      expect(waitMs).toBeLessThanOrEqual(3_600_000);

      expect((await robot.run(["--setup"])).code).toBe(0);
      await expectOneRobot(scene, daemon);
      expect(proxy.requests).toHaveLength(2);
    },
  );

  test.for(isLong ? ["-5", "soon", "0"] : ["soon"])(
    "no valid positive delay (%s) → the usual backoff step",
    async (value, { expect }) => {
      await using scene = await createScene();
      const { proxy, robot } = scene;
      proxy.inject({ kind: "answer", status: 429, headers: { "retry-after": value } });
      await using daemon = await robot.start();
      await expectOneRobot(scene, daemon);
      expect(proxy.requests).toHaveLength(2);
    },
  );
});

describe.concurrent("scenario 9: the answer is lost after the service commits:", () => {
  const losses: readonly [string, Fault, string?][] = [
    ["the connection breaks", { kind: "drop-after" }],
    // The second request has the same limit, so the limit must suit a slow machine.
    ["the answer arrives after the timeout", { kind: "delay", delayMs: 6500 }, "  request_timeout_s: 5"],
  ];

  test.for(losses)("%s → one robot, not two", async ([, fault, service], { expect }) => {
    await using scene = await createScene(service === undefined ? {} : { service });
    const { proxy, robot } = scene;
    proxy.inject(fault);
    await using daemon = await robot.start();
    await proxy.arrived(1);
    const first = await eventually(async () => storedRobots(scene.service)[0], "the commit");
    await expectOneRobot(scene, daemon);
    expect(proxy.requests).toHaveLength(2);
    expect(storedRobots(scene.service)).toEqual([first]);
  });
});

test.concurrent("scenario 10: 409 → state conflict and no further request until an input changes", async ({
  scene,
  proxy,
  robot,
}) => {
  const body = { detail: "the name is taken", message: "the name is taken", code: "Conflict" };
  proxy.inject(json(409, body));
  await using daemon = await robot.start();
  const { summary } = await daemon.until(({ state }) => state === "conflict");
  expect(summary).toContain("the name is taken");
  expect((await robot.run(["status"])).code).toBe(7);
  await daemon.lookAgain();
  expect(proxy.requests).toHaveLength(1);

  await replaceIn(robot.config_path, "site: hall-2", "site: hall-3");
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(2);
});

test.concurrent("scenario 36: an outage → one log line and no writes, however many attempts fail", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await proxy.refuse();
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "unreachable");
  await daemon.untilLogged("unreachable");
  const lines = daemon.output().split("\n").length;
  const writesBefore = await lastWrites(robot.state_directory);
  await daemon.until(({ daemon: counts }) => (counts?.attempts ?? 0) >= 4);
  expect(
    daemon
      .output()
      .split("\n")
      .slice(lines - 1)
      .join("\n"),
  ).toBe("");
  expect(daemon.logged("unreachable")).toHaveLength(1);
  expect(await lastWrites(robot.state_directory)).toEqual(writesBefore);

  await proxy.listen();
  await expectOneRobot(scene, daemon);
  const { registration } = await daemon.status();
  const digest = registration?.configuration_digest;
  expect(await daemon.untilLogged("registered")).toMatchObject([{ configuration_digest: digest }]);
});

async function lastWrites(folder: string): Promise<readonly (string | number)[]> {
  return [(await stat(folder)).mtimeMs, ...(await readdir(folder))];
}

function html(status: number): Fault {
  const body = "<!doctype html><title>Welcome</title><form action=/login>";
  return { kind: "answer", status, headers: { "content-type": "text/html" }, body };
}

function json(status: number, value: unknown): Fault {
  return { kind: "answer", status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

function viewOf(name: string): unknown {
  const createdAt = "2026-01-01T00:00:00.000Z";
  return { id: "rob_1", name, robot_type_id: "a.v1", region: "eu", created_at: createdAt, site: null, labels: {} };
}

/** Acts as a firewall's DROP: the listener's queue is full, so the kernel ignores further connection requests (listen(2)). */
async function dropConnectionsAt(port: number): Promise<{ end(): Promise<void> }> {
  const script = `
import socket, sys
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", ${port}))
listener.listen(0)
callers = [socket.socket() for _ in range(3)]
for caller in callers:
    caller.setblocking(False)
    caller.connect_ex(("127.0.0.1", ${port}))
print("full", flush=True)
sys.stdin.read()
`;
  const child = spawn("python3", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
  endWithTest(child);
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  return {
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}
