import type { Dice } from "../dice.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Kind } from "./plan.ts";
import type { FleetRobot } from "./robots.ts";
import type { Cluster } from "./service/cluster.ts";
import type { Replica } from "./service/replica.ts";
import type { DiskTrouble, ServiceDisk } from "./service/service-disk.ts";

/** What they happen to. */
export interface Disturbed {
  readonly replicas: readonly Replica[];
  readonly cluster: Cluster;
  readonly disk: ServiceDisk;
  readonly robots: readonly FleetRobot[];
  /** Addresses of all clients. */
  readonly addresses: readonly string[];
  /** What was acknowledged since then may be lost. */
  onLoss(sinceMs: number): void;
  checkAcknowledged(): void;
  count(what: string): void;
}

/** Begins something that ends by itself after a while, unless everything is mended before. */
export type During = (durationMs: number, what: string, begin: () => void, end: () => void) => void;

/** What power cuts and disks do to the database of the service, and disks that lie to the robots; what else theirs do is in actors.ts. */
export interface DiskDisturbances {
  /** The disk of the database fails, or did a moment ago: the service may say so. */
  isFailing(): boolean;
  /** It can be read all the time. */
  isReadable(): boolean;
  kinds(surroundings: Disturbed): readonly Kind[];
  mend(surroundings: Disturbed): void;
}

/** How long after its disk has recovered a replica that was frozen may still say that it failed. */
const TOLD_LATE_MS = 60_000;
/** How often a disk that lies is found out. */
const POWER_CUTS = 0.7;

export function createDiskDisturbances(scheduler: Scheduler, during: During): DiskDisturbances {
  let failsUntil_ms = Number.NEGATIVE_INFINITY;
  let unreadableUntil_ms = Number.NEGATIVE_INFINITY;

  /** The computer with the database, and those beside it. */
  function cutPower(dice: Dice, { replicas, disk, onLoss, checkAcknowledged, count }: Disturbed): void {
    for (const replica of replicas) replica.crash();
    const { hasTorn, lostSince_ms } = disk.powerCut(dice);
    if (hasTorn) count("a write of the service is torn");
    if (lostSince_ms !== null) {
      count("the service loses what its disk said it had");
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
          what: "the service's disk lies about what it synced",
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
          what: "a backup of the service is put back",
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
                count("the service is older than it was");
                onLoss(sinceMs);
              },
            );
          },
        },
        {
          what: "a robot's disk lies about what it synced",
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
