import { MODELS } from "./prepared-database.ts";
import type { Dice } from "../dice.ts";
import type { Event, Scheduler } from "../scheduler.ts";
import type { Trace } from "../trace.ts";
import type { Cluster } from "./cluster.ts";
import type { Kind } from "./plan.ts";
import type { Replica } from "./replica.ts";

/** What happens to the replicas, to the network before them, and to the inference servers that they look after. */
export interface Disturbances {
  /** Health URLs that fail now. */
  readonly failing: ReadonlySet<string>;
  /** The clocks of the replicas were set, so that nobody can say what time passed. */
  readonly hasSetClocks: boolean;
  /** A replica froze or was slow, so that what it wrote was decided long before. */
  readonly hasHeldUp: boolean;
  kinds(replicas: readonly Replica[], cluster: Cluster): readonly Kind[];
  /** Ends all of it. */
  mend(replicas: readonly Replica[], cluster: Cluster): void;
}

const HEALTH_URLS: readonly string[] = MODELS.map((slug) => `https://${slug}.example/`);

export function createDisturbances(scheduler: Scheduler, trace: Trace): Disturbances {
  const failing = new Set<string>();
  const ending: Event[] = [];
  let hasSetClocks = false;
  let hasHeldUp = false;
  let setBy_ms = 0;

  function during(duration_ms: number, what: string, begin: () => void, end: () => void): void {
    trace.note(scheduler.now_ms, `${what} for ${(duration_ms / 1000).toFixed(1)} s`, true);
    begin();
    ending.push(scheduler.after(duration_ms, null, `${what} ends`, end));
  }

  /** What is set ahead is set back later by as much. */
  function setClocks(replicas: readonly Replica[], by_ms: number): void {
    for (const { wall } of replicas) wall.set(wall.offset_ms + by_ms);
    setBy_ms += by_ms;
  }

  return {
    failing,
    get hasSetClocks() {
      return hasSetClocks;
    },
    get hasHeldUp() {
      return hasHeldUp;
    },
    kinds(replicas, cluster) {
      const upon = (act: (replica: Replica, dice: Dice) => void) => (dice: Dice) => act(dice.pick(replicas), dice);
      return [
        { what: "a replica is killed", weight: 3, run: upon((replica) => replica.crash()) },
        {
          what: "all replicas lose power",
          weight: 1,
          run() {
            for (const replica of replicas) replica.crash();
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
          what: "answers of a replica are lost",
          weight: 2,
          run: upon((replica, dice) =>
            during(
              dice.between(500, 60_000),
              `answers of ${replica.name} are lost`,
              () => cluster.halfOpen.add(replica),
              () => cluster.halfOpen.delete(replica),
            ),
          ),
        },
        {
          // Replicas need clocks that agree: whoever sets one sets them all.
          what: "the clocks of the service are set",
          weight: 1,
          isUnsteady: true,
          run(dice) {
            hasSetClocks = true;
            const by_ms = dice.pick([
              dice.between(-900, 900),
              dice.between(-50_000, 50_000),
              dice.between(-7_200_000, 7_200_000),
            ]);
            during(
              dice.between(3000, 90_000),
              `the clocks of the service are off by ${(by_ms / 1000).toFixed(1)} s`,
              () => setClocks(replicas, by_ms),
              () => setClocks(replicas, -by_ms),
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
    mend(replicas, cluster) {
      for (const event of ending) event.cancel();
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
