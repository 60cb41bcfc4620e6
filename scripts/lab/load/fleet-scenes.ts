/** The scenes of a fleet, and the costs of each. */
import { setTimeout as sleep } from "node:timers/promises";

import { registrationListSchema } from "../../../src/api/registrations.ts";
import { createFleet, type Fleet } from "./fleet.ts";
import type { LoadedService } from "./load-service.ts";
import { createSamples, meter, type Samples, type Taken, type Usage } from "./measurements.ts";

export interface Scene {
  readonly title: string;
  readonly seconds: number;
  readonly taken: readonly Taken[];
  /** Answers by status, and requests without an answer by code. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly usage: Usage;
  /** Registrations that were acknowledged but are missing. */
  readonly lost: number;
  readonly note: string;
}

export interface FleetPlan {
  readonly robots: number;
  readonly heartbeatS: number;
  readonly seconds: number;
  readonly outageS: number;
  readonly setupsPerS: number;
  note(text: string): void;
}

/** Time limit for all robots to return: twice the longest delay of the agent. */
const RETURN_PATIENCE_MS = 10 * 60_000;
const LOOK_MS = 100;
const STALL_MS = 50;

export async function playFleet(service: LoadedService, plan: FleetPlan): Promise<readonly Scene[]> {
  using samples = createSamples(STALL_MS);
  const heartbeatMs = plan.heartbeatS * 1000;
  await using fleet = await createFleet(service, { count: plan.robots, heartbeatMs, samples });
  const scenes: Scene[] = [];
  const play = async (title: string, act: () => Promise<string>) => {
    plan.note(`${service.store}: ${title} …`);
    scenes.push(await measure(service, fleet, { title, samples, act }));
  };
  await play(`${plan.robots} robots enroll`, async () => {
    await fleet.enroll();
    return "";
  });
  // Robots that enroll together send heartbeats together, because the first heartbeats spread over only a tenth of a period.
  await sleep(heartbeatMs);
  samples.take();
  await play(`heartbeats each ${plan.heartbeatS} s`, async () => {
    await sleep(plan.seconds * 1000);
    return "";
  });
  await play(`the same beside ${plan.setupsPerS} setups/s`, async () => {
    await changeRobots(fleet, plan);
    return "";
  });
  plan.note(`${service.store}: an outage of ${plan.outageS} s …`);
  await service.kill();
  // Half of them have a change to register; the registrations of the others must have survived.
  for (const [index, robot] of fleet.robots.entries()) if (index % 2 === 0) robot.change();
  await sleep(plan.outageS * 1000);
  samples.take();
  await service.start();
  await play(`all return after ${plan.outageS} s`, () => returned(fleet));
  return scenes;
}

async function measure(
  service: LoadedService,
  fleet: Fleet,
  { title, samples, act }: { readonly title: string; readonly samples: Samples; act(): Promise<string> },
): Promise<Scene> {
  const end = await meter(service);
  const sinceMs = performance.now();
  const note = await act();
  const seconds = (performance.now() - sinceMs) / 1000;
  const usage = await end();
  return { title, seconds, ...samples.take(), usage, lost: await countLost(service, fleet), note };
}

/** Changes robots evenly at the rate of the plan; resolves when all are registered. */
async function changeRobots(
  { robots }: Fleet,
  { seconds, setupsPerS }: Pick<FleetPlan, "seconds" | "setupsPerS">,
): Promise<void> {
  const sinceMs = performance.now();
  for (let made = 0; made < seconds * setupsPerS; made += 1) {
    const dueMs = sinceMs + (made * 1000) / setupsPerS;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    robots[made % robots.length]?.change();
  }
  await until(() => robots.every(({ isRegistered }) => isRegistered));
}

/** @returns when half of the robots, and when all of them, were registered and had sent a heartbeat. */
async function returned({ robots }: Fleet): Promise<string> {
  const sinceMs = Date.now();
  const seconds = () => ((Date.now() - sinceMs) / 1000).toFixed(0);
  const away = () => robots.filter((robot) => !robot.isRegistered || robot.lastHeartbeatMs < sinceMs).length;
  await until(() => away() <= robots.length / 2);
  const half = seconds();
  await until(() => away() === 0);
  return `half after ${half} s, all after ${seconds()} s`;
}

async function until(holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + RETURN_PATIENCE_MS;
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error("Some robots have not returned after ten minutes");
    await sleep(LOOK_MS);
  }
}

/** The number of robots whose registration differs from the acknowledged one. Robots with a change in progress do not count. */
async function countLost({ urls, key }: LoadedService, { robots }: Fleet): Promise<number> {
  const url = `${urls.at(-1)}/v1/me/registrations`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const { items } = registrationListSchema.parse(await answer.json());
  const held = new Map(items.map(({ robot, configuration_digest: digest }) => [robot, digest]));
  return robots.filter(({ name, isRegistered, acknowledged }) => isRegistered && held.get(name) !== acknowledged)
    .length;
}
