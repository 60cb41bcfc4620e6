/** Shared by the tests of enrolment. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect } from "vitest";

import { type InstallationView, installationViewSchema } from "../../../../src/api/installations.ts";
import type { StatusDocument } from "../../../../src/agent/status.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import type { PushedClock } from "../../../support/pushed-clock.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import type { Scene } from "../../../support/service/scene.ts";

/** The configuration of a robot without an API key. */
export const ENROLLED = { service: "  identity: enrolled" } as const;

/** A clock for the service; tests set it ahead. */
export class ServiceClock implements Clock {
  aheadMs = 0;
  wallMs = () => systemClock.wallMs() + this.aheadMs;
  monotonicMs = systemClock.monotonicMs;
  sleep = systemClock.sleep;
}

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
