/** The key: refused, missing, exposed, replaced. A corrected key takes effect without a restart. */
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect } from "vitest";

import { createRobot, type Robot, writeAtOnce } from "../../support/robot/robot.ts";
import { type FaultProxy, startFaultProxy } from "../../support/service/fault-proxy.ts";
import { test } from "../../support/service/scene-test.ts";
import { createScene, expectOneRobot, storedRobots } from "../../support/service/scene.ts";
import { startService } from "../../support/service/service.ts";

/** A well-formed key that no service knows. */
const UNKNOWN_KEY = "sk_test_0123456789abcdefghijklm";

function keysSent(proxy: FaultProxy): readonly (string | undefined)[] {
  return proxy.requests.map(({ headers }) => headers.authorization?.replace("Bearer ", ""));
}

/** Replaces the key atomically, as deploy tools do. */
async function rotate(path: string, key: string): Promise<void> {
  await writeFile(`${path}.next`, `${key}\n`, { mode: 0o600 });
  await rename(`${path}.next`, path);
}

test.concurrent("scenario 7: 401 → one request and an unhealthy status; a replaced key file → used without a restart", async () => {
  await using scene = await createScene({ key: UNKNOWN_KEY });
  const { proxy, robot, service } = scene;
  await using daemon = await robot.start();
  const { failure, healthy } = await daemon.until(({ state }) => state === "unauthorized");
  expect(failure?.reason).toBe("http-401");
  expect(healthy).toBe(false);
  expect(Date.parse(failure?.next_attempt_at ?? "") - Date.now()).toBeGreaterThan(4 * 60_000);
  const status = await robot.run(["status"]);
  expect(status.code).toBe(5);
  expect(status.stderr).toContain(`sudo ${robot.program} set-key`);
  await daemon.lookAgain();
  expect(proxy.requests).toHaveLength(1);

  await rotate(robot.keyPath, service.key);
  await expectOneRobot(scene, daemon);
  expect(keysSent(proxy)).toEqual([UNKNOWN_KEY, service.key]);
});

test.concurrent("scenario 7: several wrong keys in a row → each is tried at once, without the rate cap", async () => {
  await using scene = await createScene({ key: UNKNOWN_KEY });
  const { proxy, robot, service } = scene;
  await using daemon = await robot.start();
  const wrongKeys = Array.from({ length: 5 }, (_, index) => `${UNKNOWN_KEY}${index}`);
  for (const [index, key] of [UNKNOWN_KEY, ...wrongKeys].entries()) {
    if (index > 0) await rotate(robot.keyPath, key);
    await daemon.until(({ state, daemon: counts }) => state === "unauthorized" && counts?.attempts === index + 1);
  }
  await rotate(robot.keyPath, service.key);
  await expectOneRobot(scene, daemon);
  expect(keysSent(proxy)).toEqual([UNKNOWN_KEY, ...wrongKeys, service.key]);
  expect(daemon.output()).not.toContain("rate-capped");
});

test.concurrent("scenario 7: 403 → unauthorized; a key file rewritten in place → registers", async () => {
  await using scene = await createScene();
  const { proxy, robot, service } = scene;
  proxy.inject({ kind: "answer", status: 403, body: JSON.stringify({ detail: "this key may not set up robots" }) });
  await using daemon = await robot.start();
  const { summary } = await daemon.until(({ state }) => state === "unauthorized");
  expect(summary).toContain("this key may not set up robots");

  await writeAtOnce(robot.keyPath, `${service.key}\n`);
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(2);
});

test.concurrent("scenario 7: no key file → no request; registers when the file appears", async ({
  scene,
  proxy,
  robot,
  service,
}) => {
  await rm(robot.keyPath);
  await using daemon = await robot.start();
  const { failure } = await daemon.until(({ state }) => state === "unauthorized");
  expect(failure).toMatchObject({ reason: "no-credential", detail: expect.stringContaining(robot.keyPath) });
  expect(proxy.requests).toHaveLength(0);

  await rotate(robot.keyPath, service.key);
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(1);
});

test.concurrent("scenario 7: --setup with a refused or missing key → exit 5 at once, with a remedy", async () => {
  await using scene = await createScene({ key: UNKNOWN_KEY });
  const { proxy, robot, service } = scene;
  const refused = await robot.run(["--setup"]);
  expect(refused.code).toBe(5);
  expect(refused.stderr).toMatch(/\[unauthorized\]\n {2}→ \S/);
  expect(proxy.requests).toHaveLength(1);

  await rm(robot.keyPath);
  const missing = await robot.run(["--setup"]);
  expect(missing.code).toBe(5);
  expect(missing.stderr).toContain(robot.keyPath);
  expect(proxy.requests).toHaveLength(1);
  expect(storedRobots(service)).toEqual([]);
});

test.concurrent("scenario 17: a key that others can read → no request; status names the exact chmod", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await chmod(robot.keyPath, 0o644);
  await using daemon = await robot.start();
  const { failure } = await daemon.until(({ state }) => state === "unauthorized");
  expect(failure?.detail).toContain(`chmod 600 ${robot.keyPath}`);
  const status = await robot.run(["status"]);
  expect(status.code).toBe(5);
  expect(status.stderr).toContain(`chmod 600 ${robot.keyPath}`);
  expect(proxy.requests).toHaveLength(0);

  await chmod(robot.keyPath, 0o600);
  await expectOneRobot(scene, daemon);
});

describe.concurrent("scenario 18: a key rotated while registered → no request; the next request uses it:", () => {
  const places: readonly [string, (robot: Robot) => string, (robot: Robot) => Record<string, string>][] = [
    ["key_file", (robot) => robot.keyPath, () => ({})],
    [
      "systemd's LoadCredential",
      (robot) => robot.path("credentials/api-key"),
      (robot) => ({ CREDENTIALS_DIRECTORY: robot.path("credentials") }),
    ],
  ];

  test.for(places)("%s", async ([, placeOf, environmentOf]) => {
    await using stack = new AsyncDisposableStack();
    const dataDirectory = await mkdtemp(join(tmpdir(), "policy-service-"));
    stack.defer(() => rm(dataDirectory, { recursive: true }));
    // A service whose key file is missing creates a second key; then both are valid.
    const first = await startService({ dataDirectory });
    await first[Symbol.asyncDispose]();
    await rm(first.key_file);
    const service = stack.use(await startService({ dataDirectory }));
    const proxy = stack.use(await startFaultProxy(service.url));
    const robot = stack.use(await createRobot({ service_url: proxy.url, key: first.key }));
    await mkdir(robot.path("credentials"));
    await copyFile(robot.keyPath, robot.path("credentials/api-key"));

    const daemon = stack.use(await robot.start(environmentOf(robot)));
    await expectOneRobot({ service, robot }, daemon);
    const { runs } = (await daemon.status()).daemon ?? { runs: 0 };
    await rotate(placeOf(robot), service.key);
    await daemon.until(({ daemon: counts }) => (counts?.runs ?? 0) > runs);
    await daemon.lookAgain();
    expect(keysSent(proxy)).toEqual([first.key]);

    await writeAtOnce(robot.path("left.yaml"), "offset: 2\n");
    await expectOneRobot({ service, robot }, daemon);
    expect(keysSent(proxy)).toEqual([first.key, service.key]);
  });
});
