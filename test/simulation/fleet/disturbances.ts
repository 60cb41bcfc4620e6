import type { Dice } from "../dice.ts";
import type { Event, Scheduler } from "../scheduler.ts";
import type { Trace } from "../trace.ts";
import { createDiskDisturbances, type DiskDisturbances, type Disturbed, type During } from "./disk-disturbances.ts";
import type { Kind } from "./plan.ts";
import { MODELS } from "./service/prepared-database.ts";
import type { Replica } from "./service/replica.ts";

/** Disturbances of the replicas, their disk, their network, and the inference servers that they probe. */
export interface Disturbances {
  /** Health URLs that currently fail. */
  readonly failing: ReadonlySet<string>;
  /** Clock changes of the replicas: the current offset, the sum of all changes, and the part that the service may count as elapsed time. */
  readonly clocks: { readonly setMs: number; readonly believedMs: number };
  /** Whether a replica froze or was slow, so that its writes may rest on old decisions. */
  readonly hasHeldUp: boolean;
  readonly isDiskFailing: DiskDisturbances["isFailing"];
  readonly isDiskReadable: DiskDisturbances["isReadable"];
  kinds(surroundings: Disturbed): readonly Kind[];
  /** Ends all disturbances. */
  mend(surroundings: Disturbed): void;
}

const HEALTH_URLS: readonly string[] = MODELS.map((slug) => `https://${slug}.example/`);

export function createDisturbances(scheduler: Scheduler, trace: Trace): Disturbances {
  const failing = new Set<string>();
  const ending: Event[] = [];
  const clocks = { setMs: 0, believedMs: 0 };
  let hasHeldUp = false;
  let setBy_ms = 0;

  const during: During = (durationMs, what, begin, end) => {
    trace.note(scheduler.nowMs, `${what} for ${(durationMs / 1000).toFixed(1)} s`, true);
    begin();
    ending.push(scheduler.after(durationMs, null, `${what} ends`, end));
  };
  const disks = createDiskDisturbances(scheduler, during);

  /** A forward step is reversed later. */
  function setClocks(replicas: readonly Replica[], byMs: number): void {
    for (const { wall } of replicas) wall.set(wall.offsetMs + byMs);
    const jumpMs = Math.abs(byMs);
    clocks.setMs += jumpMs;
    // A running period counts what the wall clock skips, by several steps perhaps.
    clocks.believedMs += Math.max(Math.abs(setBy_ms), jumpMs);
    setBy_ms += byMs;
  }

  return {
    failing,
    clocks,
    get hasHeldUp() {
      return hasHeldUp;
    },
    isDiskFailing: disks.isFailing,
    isDiskReadable: disks.isReadable,
    kinds(surroundings) {
      const { replicas, cluster, addresses } = surroundings;
      const upon = (act: (replica: Replica, dice: Dice) => void) => (dice: Dice) => act(dice.pick(replicas), dice);
      return [
        { what: "a replica is killed", weight: 3, run: upon((replica) => replica.crash()) },
        ...disks.kinds(surroundings),
        {
          what: "the network is partitioned",
          weight: 2,
          run(dice) {
            const island = new Set([...addresses, ...replicas.map(({ name }) => name)].filter(() => dice.chance(0.5)));
            during(
              dice.between(500, 60_000),
              `${[...island].join(", ")} are by themselves`,
              () => (cluster.island = island),
              () => (cluster.island = null),
            );
          },
        },
        {
          what: "requests and answers overtake each other",
          weight: 2,
          run(dice) {
            const detourMs = dice.pick([200, 2000, 12_000]);
            during(
              dice.between(500, 60_000),
              `detours of up to ${detourMs} ms`,
              () => (cluster.detourMs = detourMs),
              () => (cluster.detourMs = 0),
            );
          },
        },
        { what: "a replica is stopped and started", weight: 2, run: upon((replica) => replica.terminate()) },
        {
          what: "a replica freezes",
          weight: 2,
          isUnsteady: true,
          run: upon((replica, dice) =>
            during(
              dice.between(100, 45_000),
              `${replica.name} freezes`,
              () => {
                hasHeldUp = true;
                replica.stop();
              },
              () => replica.goOn(),
            ),
          ),
        },
        {
          what: "a replica is slow",
          weight: 2,
          isUnsteady: true,
          run: upon((replica, dice) =>
            during(
              dice.between(1000, 40_000),
              `${replica.name} is slow`,
              () => {
                hasHeldUp = true;
                replica.slowness = dice.pick([5, 50, 400]);
              },
              () => (replica.slowness = 1),
            ),
          ),
        },
        {
          what: "a replica cannot be reached",
          weight: 2,
          run: upon((replica, dice) =>
            during(
              dice.between(500, 60_000),
              `${replica.name} cannot be reached`,
              () => cluster.unreachable.add(replica),
              () => cluster.unreachable.delete(replica),
            ),
          ),
        },
        {
          what: "connections to a replica are half-open",
          weight: 2,
          run: upon((replica, dice) =>
            during(
              dice.between(500, 60_000),
              `connections to ${replica.name} are half-open`,
              () => cluster.halfOpen.add(replica),
              () => cluster.halfOpen.delete(replica),
            ),
          ),
        },
        {
          // Replicas require synchronized clocks, so all are set together.
          what: "the clocks of the service are set",
          weight: 1,
          isUnsteady: true,
          run(dice) {
            const byMs = dice.pick([
              dice.between(-900, 900),
              dice.between(-50_000, 50_000),
              dice.between(-7_200_000, 7_200_000),
            ]);
            during(
              dice.between(3000, 90_000),
              `the clocks of the service are off by ${(byMs / 1000).toFixed(1)} s`,
              () => setClocks(replicas, byMs),
              () => setClocks(replicas, -byMs),
            );
          },
        },
        {
          what: "an inference server fails",
          weight: 2,
          run(dice) {
            const url = dice.pick(HEALTH_URLS);
            during(
              dice.between(3000, 90_000),
              `${url} fails`,
              () => failing.add(url),
              () => failing.delete(url),
            );
          },
        },
      ];
    },
    mend(surroundings) {
      const { replicas, cluster } = surroundings;
      for (const event of ending) event.cancel();
      disks.mend(surroundings);
      cluster.island = null;
      cluster.detourMs = 0;
      failing.clear();
      setClocks(replicas, -setBy_ms);
      cluster.unreachable.clear();
      cluster.halfOpen.clear();
      for (const replica of replicas) {
        replica.slowness = 1;
        replica.goOn();
      }
    },
  };
}
