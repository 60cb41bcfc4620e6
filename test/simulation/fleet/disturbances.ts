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
  kinds(replicas: readonly Replica[], cluster: Cluster): readonly Kind[];
  /** Ends all of it. */
  mend(replicas: readonly Replica[], cluster: Cluster): void;
}

const HEALTH_URLS: readonly string[] = MODELS.map((slug) => `https://${slug}.example/`);

export function createDisturbances(scheduler: Scheduler, trace: Trace): Disturbances {
  const failing = new Set<string>();
  const ending: Event[] = [];

  function during(duration_ms: number, what: string, begin: () => void, end: () => void): void {
    trace.note(scheduler.now_ms, `${what} for ${(duration_ms / 1000).toFixed(1)} s`, true);
    begin();
    ending.push(scheduler.after(duration_ms, null, `${what} ends`, end));
  }

  return {
    failing,
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
          run: upon((replica, dice) =>
            during(
              dice.between(100, 45_000),
              `${replica.name} freezes`,
              () => replica.stop(),
              () => replica.goOn(),
            ),
          ),
        },
        {
          what: "a replica is slow",
          weight: 2,
          run: upon((replica, dice) =>
            during(
              dice.between(1000, 40_000),
              `${replica.name} is slow`,
              () => (replica.slowness = dice.pick([5, 50, 400])),
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
      cluster.unreachable.clear();
      cluster.halfOpen.clear();
      for (const replica of replicas) {
        replica.slowness = 1;
        replica.goOn();
      }
    },
  };
}
