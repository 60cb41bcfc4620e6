import type { Clock } from "../../../platform/clock.ts";

/** A process counts again after it used this fraction of the room, so that this many replicas together do not exceed the maximum. */
const REPLICAS_EXPECTED = 10;

const FULL_AGAIN_MS = 10_000;

/** Organizations or keys whose counts are cached. */
const COUNTS_KEPT = 10_000;

/**
 * Whether organizations, or keys, have room for more robots. Counting a million robots takes as long as hundreds of setups, so counts
 * are cached, and concurrent setups may exceed the maximum by a few.
 */
export interface RobotRoom {
  readonly maximum: number;
  isFull(owner: RobotOwner): Promise<boolean>;
  /** Records that a robot was added. */
  take(owner: RobotOwner): void;
  /** Counts again at the next question, because a robot was removed. */
  recount(owner: RobotOwner): void;
}

/** The organization whose robots are counted, and the key that adds them. */
export interface RobotOwner {
  readonly organizationId: string;
  readonly keyId: string;
}

export function createRobotRoom(
  whose: keyof RobotOwner,
  maximum: number,
  countRobots: (owner: RobotOwner) => Promise<number>,
  clock: Pick<Clock, "monotonicMs">,
): RobotRoom {
  const counts = new Map<string, Count>();
  const counting = new Map<string, Promise<Count>>();

  async function count(owner: RobotOwner): Promise<Count> {
    const id = owner[whose];
    try {
      const countedMs = clock.monotonicMs();
      const fresh = { room: maximum - (await countRobots(owner)), taken: 0, countedMs };
      const [oldest] = counts.keys();
      if (counts.size >= COUNTS_KEPT && oldest !== undefined) counts.delete(oldest);
      counts.set(id, fresh);
      return fresh;
    } finally {
      counting.delete(id);
    }
  }

  function countOnce(owner: RobotOwner): Promise<Count> {
    const underway = counting.get(owner[whose]) ?? count(owner);
    counting.set(owner[whose], underway);
    return underway;
  }

  return {
    maximum,
    async isFull(owner) {
      const known = counts.get(owner[whose]);
      const { room } = known === undefined || isStale(known, clock.monotonicMs()) ? await countOnce(owner) : known;
      return room <= 0;
    },
    take(owner) {
      const known = counts.get(owner[whose]);
      if (known !== undefined) known.taken += 1;
    },
    recount: (owner) => void counts.delete(owner[whose]),
  };
}

interface Count {
  /** Room below the maximum when it was counted. */
  readonly room: number;
  readonly countedMs: number;
  /** Robots that this process has added since. */
  taken: number;
}

/** A full owner is counted again after a while: another replica may have removed robots. */
function isStale({ room, taken, countedMs }: Count, nowMs: number): boolean {
  return room > 0 ? taken * REPLICAS_EXPECTED >= room : nowMs - countedMs >= FULL_AGAIN_MS;
}
