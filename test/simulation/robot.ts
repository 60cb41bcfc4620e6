import { expect, onTestFinished } from "vitest";

import type { StatusDocument } from "../../src/agent/status.ts";
import { curiosity } from "./claims/curiosity.ts";
import { discretion } from "./claims/discretion.ts";
import { durability } from "./claims/durability.ts";
import { honestDigests } from "./claims/honest-digests.ts";
import { type Patience, patience } from "./claims/patience.ts";
import { createEditors, type Editors } from "./editors.ts";
import { preload } from "./machine/preload.ts";
import { contentOf, FILES, HOSTNAME } from "./machine/robot-files.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** A simulated robot for one scenario: only the test acts on it, and all claims are checked. */
export interface Robot {
  readonly world: World;
  readonly editors: Editors;
  readonly patience: Patience;
  /** The agent's status; throws when none runs. */
  status(): StatusDocument;
  /** The digest that the service holds; null if it does not know the robot. */
  held(): string | null;
  robots(): number;
  /** Starts the daemon and waits until it is registered and idle. */
  settle(): Promise<void>;
  /** A person requests a confirmation; waits for its result. */
  confirm(): Promise<void>;
  /** Waits until the agent is in the state. */
  reach(state: StatusDocument["state"], limitMs?: number): Promise<boolean>;
  /** Replaces a file by another version, by rename. */
  edit(version: number, path?: string): void;
}

/** Old file times, so that a start does not wait for settling. */
const AGE_MS = 60_000;
const REST_MS = 60_000;

/** A robot for one test, which fails if a claim was violated by its end. */
export async function createRobot(seed: number, options: WorldOptions = {}): Promise<Robot> {
  const robot = await simulateRobot(seed, options);
  onTestFinished(() => expect(robot.world.failure).toBeNull());
  return robot;
}

/** The same robot, registered and idle. */
export async function settledRobot(seed: number, options: WorldOptions = {}): Promise<Robot> {
  const robot = await createRobot(seed, options);
  await robot.settle();
  return robot;
}

/** A robot for use outside of a test. */
export async function simulateRobot(seed: number, options: WorldOptions = {}): Promise<Robot> {
  await preload();
  const world = createWorld(seed, options);
  const patient = patience(world);
  const curious = curiosity(world);
  world.watchedBy(honestDigests(world), patient, curious, durability(world), discretion(world));
  const editors = createEditors(world);
  const robot: Robot = {
    world,
    editors,
    patience: patient,
    status() {
      const status = world.daemon?.agent?.status();
      if (status === undefined) throw new Error("No daemon runs");
      return status;
    },
    held: () => world.service.robots.get(HOSTNAME)?.request.configuration_digest ?? null,
    robots: () => world.service.robots.size,
    async settle() {
      if (world.daemon === null) world.start();
      if (!(await robot.reach("registered")))
        throw new Error(`Not registered: ${world.failure ?? world.daemon?.statusText ?? "no daemon"}`);
      await world.runFor(REST_MS);
    },
    async confirm() {
      if (world.daemon?.agent === null || world.daemon === null) throw new Error("No daemon runs");
      curious.allowOne(world.daemon.process);
      let isAnswered = false;
      void world.daemon.agent.confirm().then(() => (isAnswered = true));
      await world.runUntil(() => isAnswered, 120_000);
    },
    reach: (state, limitMs = 120_000) => world.runUntil(() => world.daemon?.agent?.status().state === state, limitMs),
    edit: (version, path = FILES.limits) => editors.write(path, contentOf(path, version), "by rename", 0),
  };
  await world.runFor(AGE_MS);
  return robot;
}
