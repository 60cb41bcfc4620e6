/** The agent's environment, for failure tests: a service, a fault proxy in front of it, and a robot computer. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { expect } from "vitest";

import type { StatusDocument } from "../../../src/agent/status.ts";
import type { Daemon } from "../robot/daemon.ts";
import { createRobot, type Robot, type RobotOptions, setupBodies } from "../robot/robot.ts";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import { type RunningService, type ServiceOptions, startService } from "./service.ts";

export interface Scene extends AsyncDisposable {
  readonly service: RunningService;
  readonly proxy: FaultProxy;
  /** Configured with the proxy as its service. */
  readonly robot: Robot;
}

export async function createScene(
  options: Partial<RobotOptions> = {},
  serviceOptions: ServiceOptions = {},
): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const service = stack.use(await startService(serviceOptions));
  const proxy = stack.use(await startFaultProxy(service.url));
  const robot = stack.use(await createRobot({ service_url: proxy.url, key: service.key, ...options }));
  const owned = stack.move();
  return { service, proxy, robot, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Like `createScene`, with an endpoint in each of these regions, at which nothing listens. */
export async function createSceneWithRegions(
  regions: readonly string[],
  options: Partial<RobotOptions> = {},
): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "models-"));
  stack.defer(() => rm(folder, { recursive: true }));
  const modelsFile = await writeModels(folder, regions);
  const scene = stack.use(await createScene(options, { configuration: { modelsFile } }));
  const owned = stack.move();
  return { ...scene, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A catalog with an endpoint in each of these regions. @returns its path. */
export async function writeModels(folder: string, regions: readonly string[]): Promise<string> {
  const path = join(folder, "models.yaml");
  const endpoints = regions.map((region) => ({ region, url: "http://127.0.0.1:9" }));
  const model = { slug: "m", checkpoints: [{ id: "ckpt_m", created_at: "2026-01-01T00:00:00Z", endpoints }] };
  await writeFile(path, JSON.stringify({ models: [model] }));
  return path;
}

/**
 * What must hold after every fault: the daemon settles, the service holds one robot with the digest of the files on the disk, and the
 * agent's state file agrees.
 */
export async function expectOneRobot(
  { service, robot }: Pick<Scene, "service" | "robot">,
  daemon: Daemon,
  name = "arm-7",
): Promise<StatusDocument> {
  const configurationDigest = await robot.digest();
  const status = await daemon.until(
    ({ state, registration }) => state === "registered" && registration?.configuration_digest === configurationDigest,
  );
  expect(storedRobots(service)).toEqual([{ name, configuration_digest: configurationDigest }]);
  expect(await savedRegistration(robot)).toMatchObject({
    request: { name, configuration_digest: configurationDigest },
  });
  return status;
}

/** Robots read directly from the store, because the API does not show digests. */
export function storedRobots(
  service: Pick<RunningService, "dataDirectory">,
): { name: string; configuration_digest: string }[] {
  using database = new DatabaseSync(join(service.dataDirectory, "service.db"), { readOnly: true });
  const rows = database.prepare("SELECT name, configuration_digest FROM robots ORDER BY id").all();
  return rows.map((row) => ({ name: String(row["name"]), configuration_digest: String(row["configuration_digest"]) }));
}

/** The registration in the state directory; null without one. */
export async function savedRegistration(robot: Pick<Robot, "state_directory">): Promise<unknown> {
  const path = join(robot.state_directory, "registration.json");
  if (!existsSync(path)) return null;
  const envelope = JSON.parse(await readFile(path, "utf8")) as { registration: unknown };
  return envelope.registration;
}

/** The sent digests, oldest first. */
export function sentDigests(proxy: FaultProxy): readonly string[] {
  return setupBodies(proxy.requests).map(({ configuration_digest: configurationDigest }) => configurationDigest);
}
