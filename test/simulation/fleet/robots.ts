import { robotSetupSchema } from "../../../src/api/robots.ts";
import type { Machine } from "../../../src/platform/machine.ts";
import type { Actors } from "../actors.ts";
import { createActors } from "../actors.ts";
import { wantedOnDisk } from "../claims/convergence.ts";
import type { Curiosity } from "../claims/curiosity.ts";
import { curiosity } from "../claims/curiosity.ts";
import { discretion } from "../claims/discretion.ts";
import { durability } from "../claims/durability.ts";
import { honestDigests } from "../claims/honest-digests.ts";
import type { Patience } from "../claims/patience.ts";
import { patience } from "../claims/patience.ts";
import type { Dice } from "../dice.ts";
import { TABLES } from "../machine/robot-files.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Trace } from "../trace.ts";
import type { World } from "../world.ts";
import { createWorld } from "../world.ts";
import { robotFault } from "./faults.ts";
import type { Cluster } from "./service/cluster.ts";
import type { Organization } from "./service/prepared-database.ts";
import type { Truth } from "./truth.ts";

/** A robot of the fleet: the computer of world.ts, with the real service in place of the model. */
export interface FleetRobot {
  readonly name: string;
  readonly organization: Organization;
  readonly address: string;
  readonly world: World;
  readonly actors: Actors;
  /** What it is not yet: null once it is registered as what is on its disk, and knows it. */
  unsettled(): string | null;
  /** A person asks it to register, and whether the service holds it. */
  askAll(): void;
}

export interface FleetRobotOptions {
  readonly name: string;
  readonly organization: Organization;
  readonly address: string;
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly cluster: Cluster;
  readonly truth: Truth;
  readonly mistake: (machine: Machine) => Machine;
  /** Something happened to it. */
  count(what: string): void;
  fail(message: string): void;
}

export function createFleetRobot(options: FleetRobotOptions): FleetRobot {
  const { name, organization, address, scheduler, dice, trace, cluster, truth, mistake } = options;
  const world = createWorld(dice.below(0x1_0000_0000), {
    granularityMs: dice.pick([1, 4, 10, 10, 1000]),
    silentFolders: dice.chance(0.15) ? [TABLES] : [],
    surroundings: {
      scheduler,
      trace,
      hostname: name,
      key: organization.key,
      serve: (request) => cluster.serve(organization.mark, address, request),
      mistake,
      fail: options.fail,
    },
  });
  const { disturb } = world;
  world.disturb = (what) => {
    const fault = robotFault(what);
    if (fault !== null) options.count(fault);
    disturb(what);
  };
  const patient: Patience = patience(world);
  const durable = durability(world);
  const curious: Curiosity = curiosity(world);
  world.watchedBy(honestDigests(world), patient, curious, durable, discretion(world), {
    onRequest: (_incarnation, { request }) =>
      truth.sent(name, robotSetupSchema.parse(JSON.parse(request.body ?? "")).configuration_digest),
  });
  const actors = createActors(world, { patience: patient, durability: durable, curiosity: curious, isOneOfMany: true });
  return {
    name,
    organization,
    address,
    world,
    actors,
    unsettled() {
      const status = world.daemon?.agent?.status();
      if (status === undefined) return "no daemon runs";
      if (status.state !== "registered" || !status.healthy) return `the agent is ${status.state}: ${status.summary}`;
      const wanted = wantedOnDisk(world).configuration_digest;
      const held = truth.digestOf(name);
      if (held !== wanted) return `the service holds ${held ?? "nothing"}, on the disk is ${wanted}`;
      if (status.registration?.configuration_digest !== held) return "the agent believes another digest";
      return status.state_problem;
    },
    askAll() {
      const { daemon } = world;
      if (daemon?.agent === null || daemon === null) return;
      world.disturb(`${name}: a person asks it to register`);
      patient.allowOne(daemon.process);
      curious.allowOne(daemon.process);
      const { agent } = daemon;
      void agent.register().then(() => agent.confirm());
    },
  };
}
