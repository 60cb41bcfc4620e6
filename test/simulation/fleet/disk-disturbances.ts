import type { Dice } from "../dice.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Kind } from "./plan.ts";
import type { FleetRobot } from "./robots.ts";
import type { Cluster } from "./service/cluster.ts";
import type { Replica } from "./service/replica.ts";
import type { DiskTrouble, ServiceDisk } from "./service/service-disk.ts";

/** The parts of the world that are disturbed. */
export interface Disturbed {
  readonly replicas: readonly Replica[];
  readonly cluster: Cluster;
  readonly disk: ServiceDisk;
  readonly robots: readonly FleetRobot[];
  /** Addresses of all clients. */
  readonly addresses: readonly string[];
  /** Writes acknowledged since then may be lost. */
  onLoss(sinceMs: number): void;
  checkAcknowledged(): void;
  count(what: string): void;
}

/** Starts a disturbance that ends after a while, or when everything is mended. */
export type During = (durationMs: number, what: string, begin: () => void, end: () => void) => void;

/** Power cuts and failures of the database's disk, and robot disks that lie. Other faults of robot disks are in actors.ts. */
export interface DiskDisturbances {
  /** Whether the database's disk fails or failed recently: the service may report it. */
  isFailing(): boolean;
  /** Whether the disk has been readable all the time. */
  isReadable(): boolean;
  kinds(surroundings: Disturbed): readonly Kind[];
  mend(surroundings: Disturbed): void;
}

/** How long after the disk has recovered a replica that was frozen may still report the failure. */
const TOLD_LATE_MS = 60_000;
/** Probability that a lying disk loses data. */
const POWER_CUTS = 0.7;

export function createDiskDisturbances(scheduler: Scheduler, during: During): DiskDisturbances {
  let failsUntil_ms = Number.NEGATIVE_INFINITY;
  let unreadableUntil_ms = Number.NEGATIVE_INFINITY;

  /** The computer of the database, and the other ones. */
  function cutPower(dice: Dice, { replicas, disk, onLoss, checkAcknowledged, count }: Disturbed): void {
    for (const replica of replicas) replica.crash();
    const { hasTorn, lostSince_ms } = disk.powerCut(dice);
    if (hasTorn) count("a write of the service is torn");
    if (lostSince_ms !== null) {
      count("the service loses data that its disk claimed to have synced");
      onLoss(lostSince_ms);
    }
    checkAcknowledged();
  }

  function fail({ disk }: Disturbed, trouble: DiskTrouble, durationMs: number): void {
    const untilMs = scheduler.nowMs + durationMs + TOLD_LATE_MS;
    failsUntil_ms = Math.max(failsUntil_ms, untilMs);
    if (trouble === "input and output fail") unreadableUntil_ms = Math.max(unreadableUntil_ms, untilMs);
    during(
      durationMs,
      `the service's disk: ${trouble}`,
      () => (disk.trouble = trouble),
      () => (disk.trouble = "none"),
    );
  }

  return {
    isFailing: () => scheduler.nowMs <= failsUntil_ms,
    isReadable: () => scheduler.nowMs > unreadableUntil_ms,
    kinds(surroundings) {
      const { replicas, disk, robots, onLoss, count } = surroundings;
      return [
        {
          what: "all replicas lose power",
          weight: 2,
          run: (dice) => cutPower(dice, surroundings),
        },
        {
          what: "the service's disk is full",
          weight: 1,
          run: (dice) =>
            fail(surroundings, dice.pick(["no page left", "the log cannot grow"]), dice.between(500, 40_000)),
        },
        {
          what: "the service's disk fails",
          weight: 1,
          run: (dice) => fail(surroundings, "input and output fail", dice.between(500, 20_000)),
        },
        {
          what: "the service's disk lies about syncs",
          weight: 1,
          run(dice) {
            const endsBadly = dice.chance(POWER_CUTS);
            const power = dice.fork();
            during(
              dice.between(500, 20_000),
              "the service's disk lies",
              () => disk.lie(scheduler.nowMs),
              () => {
                if (endsBadly) cutPower(power, surroundings);
                else disk.makeTrue();
              },
            );
          },
        },
        {
          what: "a backup of the service is restored",
          weight: 1,
          run(dice) {
            const backup = disk.backUp();
            const sinceMs = scheduler.nowMs;
            during(
              dice.between(500, 30_000),
              "a backup is kept",
              () => {},
              () => {
                for (const replica of replicas) replica.crash();
                disk.restore(backup);
                count("the service is restored from a backup");
                onLoss(sinceMs);
              },
            );
          },
        },
        {
          what: "a robot's disk lies about syncs",
          weight: 1,
          run(dice) {
            const { world } = dice.pick(robots);
            const endsBadly = dice.chance(POWER_CUTS);
            during(
              dice.between(500, 20_000),
              `the disk of ${world.hostname} lies`,
              () => (world.disk_trouble.lies = true),
              () => {
                if (endsBadly) world.powerCut();
                world.disk_trouble.lies = false;
                world.disk.syncAll();
              },
            );
          },
        },
      ];
    },
    mend({ disk, robots }) {
      disk.trouble = "none";
      disk.makeTrue();
      for (const { world } of robots) world.disk_trouble.lies = false;
    },
  };
}
