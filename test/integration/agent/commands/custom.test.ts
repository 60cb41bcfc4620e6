/** A daemon with a custom manifest and a real service. */
import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";

import { expect, test } from "vitest";
import { parse, stringify } from "yaml";

import { loadRegistration, saveRegistration } from "../../../../src/agent/registration/registration.ts";
import type { RobotSetup } from "../../../../src/api/robots.ts";
import type { Contract } from "../../../../src/manifest/custom/contract.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { customManifest } from "../../../support/robot/custom-manifest.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import { replaceIn, writeAtOnce } from "../../../support/robot/robot.ts";
import { createScene, savedRegistration, type Scene } from "../../../support/service/scene.ts";

/** A scene whose robot has a custom manifest. */
async function createCustomScene(): Promise<Scene> {
  const scene = await createScene();
  await writeAtOnce(scene.robot.manifestPath, customManifest(scene.robot.paths));
  return scene;
}

function sentBodies({ proxy }: Scene): readonly (RobotSetup & { readonly contract: Contract })[] {
  return proxy.requests.map(({ body }) => JSON.parse(body) as RobotSetup & { readonly contract: Contract });
}

/** Waits for the registration and asserts that it took this many requests in all. */
async function registeredAfter(scene: Scene, daemon: Daemon, count: number): Promise<void> {
  await daemon.until(({ state }) => state === "registered" && scene.proxy.requests.length >= count);
  expect(scene.proxy.requests.length).toBe(count);
}

/** The service's record of its only robot. */
function stored({ service }: Scene): { readonly robot_type_id: unknown; readonly contract: unknown } {
  using database = new DatabaseSync(join(service.dataDirectory, "service.db"), { readOnly: true });
  const rows = database.prepare("SELECT robot_type_id, contract FROM robots").all();
  expect(rows.length).toBe(1);
  return { robot_type_id: rows[0]?.["robot_type_id"], contract: JSON.parse(String(rows[0]?.["contract"])) };
}

const elbowRange = ({ action_axes: actionAxes }: Contract) =>
  actionAxes.find(({ name }) => name === "arm.elbow.position")?.range;

test("a custom robot → registers with its contract; unchanged restart → no request", async () => {
  await using scene = await createCustomScene();
  const { robot } = scene;
  await using daemon = await robot.start();
  await registeredAfter(scene, daemon, 1);
  const [body] = sentBodies(scene);
  const { stdout } = await robot.run(["contract", "--json"]);
  expect(body?.robot_type_id).toBe("acme.bench.v1");
  expect(body?.contract).toEqual((JSON.parse(stdout) as { contract: Contract }).contract);
  expect(stored(scene)).toEqual({ robot_type_id: "acme.bench.v1", contract: body?.contract });
  await daemon.stop();

  await using again = await robot.start();
  await again.until(({ state }) => state === "registered");
  await again.ask("POST", "/reload");
  expect(scene.proxy.requests.length).toBe(1);
});

test("the same robot written differently → no request; a changed joint limit → one request with the same digest", async () => {
  await using scene = await createCustomScene();
  const { robot } = scene;
  await using daemon = await robot.start();
  await registeredAfter(scene, daemon, 1);

  const manifest = parse(await readFile(robot.manifestPath, "utf8")) as Record<string, unknown>;
  const reordered = Object.fromEntries(Object.entries(manifest).toReversed());
  await writeAtOnce(robot.manifestPath, `# the same\r\n${stringify(reordered, { collectionStyle: "flow" })}`);
  await daemon.ask("POST", "/reload");
  await writeAtOnce(robot.manifestPath, customManifest(robot.paths));
  await daemon.ask("POST", "/reload");
  await replaceIn(robot.manifestPath, "[-45, 120]", "[-45, 90]");
  await registeredAfter(scene, daemon, 2);

  const [first, second] = sentBodies(scene);
  expect(second).toEqual({ ...first, contract: second?.contract });
  expect(first && elbowRange(first.contract)).toEqual([-0.785398163397, 2.09439510239]);
  expect(second && elbowRange(second.contract)).toEqual([-0.785398163397, 1.57079632679]);
  expect(stored(scene).contract).toEqual(second?.contract);
  // A reload sends nothing more.
  await daemon.ask("POST", "/reload");
  expect(scene.proxy.requests.length).toBe(2);
});

test("an invalid edit → not registered; the last registration stays, and status shows the finding", async () => {
  await using scene = await createCustomScene();
  const { robot } = scene;
  await using daemon = await robot.start();
  await registeredAfter(scene, daemon, 1);
  const before = await savedRegistration(robot);
  await replaceIn(robot.manifestPath, "[-45, 120]", "[120, -45]");
  const { findings, registration } = await daemon.until(({ state }) => state === "invalid");
  expect(findings).toMatchObject([{ id: "limits_inverted", loc: "/groups/0/limits/position/1", line: 11, column: 36 }]);
  expect(registration?.configuration_digest).toBe(await robot.digest());
  // Neither --setup nor a changed file registers it.
  await daemon.ask("POST", "/register");
  await writeAtOnce(robot.paths[0] ?? "", "offset: 7\n");
  await daemon.ask("POST", "/reload");
  expect(scene.proxy.requests.length).toBe(1);
  expect(await savedRegistration(robot)).toEqual(before);

  await replaceIn(robot.manifestPath, "[120, -45]", "[-45, 100]");
  await registeredAfter(scene, daemon, 2);
  expect(sentBodies(scene)[1]?.configuration_digest).toBe(await robot.digest());
});

test("a draft, with or without placeholders → not registered; ready → registered", async () => {
  await using scene = await createCustomScene();
  const { robot } = scene;
  await replaceIn(robot.manifestPath, "topology", "status: draft\ntopology");
  await replaceIn(robot.manifestPath, "open: 80", "open: TODO");
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "draft");
  await replaceIn(robot.manifestPath, "open: TODO", "open: 80");
  await daemon.ask("POST", "/reload");
  await daemon.ask("POST", "/register");
  expect((await daemon.status()).state).toBe("draft");
  expect(scene.proxy.requests).toEqual([]);
  await replaceIn(robot.manifestPath, "status: draft", "status: ready");
  await registeredAfter(scene, daemon, 1);
});

test("a saved registration with its members in another order → the same registration", async () => {
  await using scene = await createCustomScene();
  const { robot } = scene;
  await using daemon = await robot.start();
  await registeredAfter(scene, daemon, 1);
  await daemon.stop();
  const [body] = sentBodies(scene);
  // Writes the state as an agent with another order of contract members would.
  const loaded = await loadRegistration(systemFiles, robot.state_directory);
  if (loaded.kind !== "content" || body === undefined) throw new Error("nothing was saved");
  const contract = Object.fromEntries(Object.entries(body.contract).toReversed());
  await saveRegistration(systemFiles, robot.state_directory, {
    ...loaded.content,
    request: { ...body, contract },
  });
  await using again = await robot.start();
  await again.until(({ state }) => state === "registered");
  await again.ask("POST", "/reload");
  expect(scene.proxy.requests.length).toBe(1);
});

test("--setup --if-changed → the service has the contract as sent; no second registration", async () => {
  await using scene = await createCustomScene();
  const { robot, proxy } = scene;
  expect((await robot.run(["--setup"])).code).toBe(0);
  const { code, stdout } = await robot.run(["--setup", "--if-changed", "--json"]);
  expect([code, JSON.parse(stdout).registered_now]).toEqual([0, false]);
  expect(proxy.requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
});
