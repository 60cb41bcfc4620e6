import * as z from "zod";

import { robotSetupSchema } from "../../../src/api/robots.ts";
import type { Machine } from "../../../src/platform/machine.ts";
import { type Actors, createActors } from "../actors.ts";
import { wantedOnDisk } from "../claims/convergence.ts";
import { type Curiosity, curiosity } from "../claims/curiosity.ts";
import { discretion } from "../claims/discretion.ts";
import { durability } from "../claims/durability.ts";
import { honestDigests } from "../claims/honest-digests.ts";
import { credentialOnDisk, identityClaims } from "../claims/identity.ts";
import { type Patience, patience } from "../claims/patience.ts";
import type { Dice } from "../dice.ts";
import { PLACES, TABLES } from "../machine/robot-files.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Trace } from "../trace.ts";
import { createWorld, type World } from "../world.ts";
import { identityFault, robotFault } from "./faults.ts";
import type { Cluster } from "./service/cluster.ts";
import type { Organization } from "./service/prepared-database.ts";
import type { Truth } from "./truth.ts";

/** A robot of the fleet: the computer of world.ts with the real service instead of the model. */
export interface FleetRobot {
  readonly name: string;
  readonly organization: Organization;
  readonly address: string;
  readonly world: World;
  readonly actors: Actors;
  /** The displayed enrolment code; null without one. */
  userCode(): string | null;
  /** The credential on the disk; null without one. */
  credential(): string | null;
  /** What is missing for rest; null once the robot is registered with its current files and reports it. */
  unsettled(): string | null;
  /** Cuts the power for this long; does nothing if no daemon runs. */
  switchOff(durationMs: number): void;
  /** A person requests a registration and a confirmation. */
  askAll(): void;
  /** A person enrolls the robot again if the service no longer accepts its key. */
  enrollAgain(): void;
}

export interface FleetRobotOptions {
  readonly name: string;
  readonly organization: Organization;
  readonly address: string;
  /** Whether the robot enrolls; otherwise it has a key of the organization. */
  readonly isEnrolled: boolean;
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly cluster: Cluster;
  readonly truth: Truth;
  readonly mistake: (machine: Machine) => Machine;
  /** Called for each disturbance of the robot. */
  count(what: string): void;
  fail(message: string): void;
}

const started = z.object({ configuration_digest: z.string() });

export function createFleetRobot(options: FleetRobotOptions): FleetRobot {
  const { name, organization, address, isEnrolled, scheduler, dice, trace, cluster, truth, mistake } = options;
  const world = createWorld(dice.below(0x1_0000_0000), {
    granularityMs: dice.pick([1, 4, 10, 10, 1000]),
    silentFolders: dice.chance(0.15) ? [TABLES] : [],
    surroundings: {
      scheduler,
      trace,
      hostname: name,
      key: isEnrolled ? null : organization.key,
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
  const sent = (digest: string) => truth.sent(name, digest);
  world.watchedBy(honestDigests(world), patient, curious, durable, discretion(world), {
    onRequest: (_incarnation, { request }) =>
      sent(robotSetupSchema.parse(JSON.parse(request.body ?? "")).configuration_digest),
  });
  if (isEnrolled) {
    world.watchedBy(identityClaims(world), {
      onIdentity: (_incarnation, { request }) => {
        if (request.url.endsWith("/enrollment"))
          sent(started.parse(JSON.parse(request.body ?? "")).configuration_digest);
      },
      onIdentityAnswered(_incarnation, { request }, answer) {
        const fault = identityFault(request, answer);
        if (fault !== null) options.count(fault);
      },
    });
  }
  const agent = () => world.daemon?.agent ?? null;
  const actors = createActors(world, { patience: patient, durability: durable, curiosity: curious, isOneOfMany: true });
  return {
    name,
    organization,
    address,
    world,
    actors,
    credential: () => credentialOnDisk(world),
    userCode: () => agent()?.status().identity?.user_code ?? null,
    unsettled() {
      const status = agent()?.status();
      if (status === undefined) return "no daemon runs";
      if (isEnrolled && status.identity?.state !== "enrolled")
        return `its identity is ${status.identity?.state}: ${status.identity?.problem}`;
      if (isEnrolled && status.identity?.last_heartbeat_at === null) return "no heartbeat was accepted";
      if (status.state !== "registered" || !status.healthy) return `the agent is ${status.state}: ${status.summary}`;
      const wanted = wantedOnDisk(world).configuration_digest;
      const held = truth.digestOf(name);
      if (held !== wanted) return `the service holds ${held ?? "nothing"}, on the disk is ${wanted}`;
      if (status.registration?.configuration_digest !== held) return "the agent believes another digest";
      return status.state_problem;
    },
    switchOff(durationMs) {
      if (world.daemon === null) return;
      world.disturb(`${name} is switched off for ${(durationMs / 1000).toFixed(1)} s`);
      world.supervised = false;
      world.powerCut();
      scheduler.after(durationMs, null, `${name} is switched on again`, () => {
        world.supervised = true;
        if (world.daemon === null) world.start();
      });
    },
    askAll() {
      const { daemon } = world;
      if (daemon?.agent === null || daemon === null) return;
      world.disturb(`${name}: a person asks it to register`);
      patient.allowOne(daemon.process);
      curious.allowOne(daemon.process);
      const { agent } = daemon;
      // A restart ends waits of up to an hour.
      if (agent.status().identity?.state === "waiting-for-approval") void agent.enroll();
      void agent.register().then(() => agent.confirm());
    },
    enrollAgain() {
      const state = agent()?.status().identity?.state;
      if (state !== "unenrolled") return;
      world.disturb(`${name}: a person makes it enroll again`);
      // Like `robot-policy-agent enroll` before it asks the daemon.
      if (world.disk.exists(PLACES.identity_key)) world.disk.rename(PLACES.identity_key, `${PLACES.identity_key}.old`);
      void agent()?.enroll();
    },
  };
}
