/** Shared by the tests of enrolment. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect } from "vitest";

import { apiKeyCreatedSchema } from "../../../../src/api/keys.ts";

import { type InstallationView, installationViewSchema } from "../../../../src/api/installations.ts";
import type { StatusDocument } from "../../../../src/agent/status.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import { replaceIn } from "../../../support/robot/robot.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";

/** The configuration of a robot without an API key. */
export const ENROLLED = { service: "  identity: enrolled" } as const;

/** A clock for the service; tests set it ahead. */
export class ServiceClock implements Clock {
  aheadMs = 0;
  wallMs = () => systemClock.wallMs() + this.aheadMs;
  monotonicMs = systemClock.monotonicMs;
  sleep = systemClock.sleep;
}

/** A robot without an API key at a service of its own. The clocks are those of the agent and of the service. */
export async function openScene() {
  const [clock, serviceClock] = [new PushedClock(), new ServiceClock()];
  return { ...(await createScene(ENROLLED, { clock: serviceClock })), clock, serviceClock };
}

/** As `openScene`, with its agent. */
export async function startScene() {
  const scene = await openScene();
  const daemon = await scene.robot.start({}, scene.clock);
  return {
    ...scene,
    daemon,
    /** Advances the agent's clock until the status matches. */
    until: (holds: (status: StatusDocument) => boolean) => advanceUntil(daemon, scene.clock, holds),
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await scene[Symbol.asyncDispose]();
    },
  };
}

/** A registration of the name of these robots. */
export const SETUP = {
  name: "arm-7",
  robot_type_id: "so101",
  region: "eu-central-1",
  configuration_digest: `sha256:${"0".repeat(64)}`,
};

/** Waits until the robot shows a code other than `than`. */
export async function shownCode(daemon: Daemon, than: string | null = null): Promise<string> {
  const isNew = (code: string | null) => code !== null && code !== than;
  const { identity } = await daemon.until(({ identity: current }) => isNew(current?.user_code ?? null));
  return identity?.user_code ?? "";
}

/** Advances the agent's clock, by `byMs` at a time, until the status matches. */
export function advanceUntil(
  daemon: Daemon,
  clock: PushedClock,
  holds: (status: StatusDocument) => boolean,
  byMs = 1000,
): Promise<StatusDocument> {
  return daemon.until((status) => {
    if (holds(status)) return true;
    clock.push(byMs);
    return false;
  });
}

export async function approve({ service }: Pick<Scene, "service">, code: string, members: object = {}): Promise<void> {
  const answer = await service.send("POST", "/v1/robots/approve", { user_code: code, ...members });
  expect([answer.status, await answer.json()]).toEqual([200, expect.anything()]);
}

/** Starts the robot, approves its code, and waits until it is registered. */
export async function enroll(
  scene: Pick<Scene, "service">,
  daemon: Daemon,
  clock: PushedClock,
): Promise<StatusDocument> {
  await approve(scene, await shownCode(daemon));
  return advanceUntil(daemon, clock, ({ state }) => state === "registered");
}

/** Enrolls the robot, then stops its agent. */
export async function enrollAndStop(scene: Pick<Scene, "robot" | "service">, clock: PushedClock): Promise<void> {
  await using daemon = await scene.robot.start({}, clock);
  await enroll(scene, daemon, clock);
  await daemon.stop();
}

/** The content of an identity file. */
export async function readIdentityFile(
  { robot }: Pick<Scene, "robot">,
  name: "key" | "enrolment" | "credential",
): Promise<Record<string, string>> {
  const text = await readFile(join(robot.state_directory, `identity-${name}.json`), "utf8");
  return JSON.parse(text).content;
}

export async function installation({ service }: Pick<Scene, "service">): Promise<InstallationView> {
  return installationViewSchema.parse(await (await service.send("GET", "/v1/robots/arm-7/installation")).json());
}

/** Whether the service accepted a heartbeat since the agent started. */
export function hasBeaten({ identity }: StatusDocument): boolean {
  return (identity?.last_heartbeat_at ?? null) !== null;
}

/** Runs `enroll --no-wait --json`. @returns what it shows. */
export async function beginEnrolment({ robot }: Pick<Scene, "robot">) {
  const { code, stdout } = await robot.run(["enroll", "--no-wait", "--json"]);
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

/** Has the robot enroll with a key for enrolments, which lies beside its other files. */
export async function putEnrolmentKey(
  { robot, service }: Pick<Scene, "robot" | "service">,
  given: object = {},
): Promise<{ readonly key: string; readonly path: string }> {
  const path = robot.path("enrolment-key");
  const answer = await service.send("POST", "/v1/me/api-keys", {
    label: "factory",
    scopes: ["robots:enroll"],
    enrollment: { uses: 5, ...given },
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const { api_key: key } = apiKeyCreatedSchema.parse(await answer.json());
  await writeFile(path, `${key}\n`, { mode: 0o600 });
  await replaceIn(robot.config_path, "identity: enrolled", `identity: enrolled\n  enrolment_key_file: ${path}`);
  return { key, path };
}
