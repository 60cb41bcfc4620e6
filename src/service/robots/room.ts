/** Of the room that was left at the last count, one part in so many is taken before the next: so many replicas do not pass the maximum together. */
const REPLICAS_EXPECTED = 10;

/** Organizations or keys whose count is known at a time. */
const COUNTS_KEPT = 10_000;

/**
 * Whether organizations, or keys, have room for more robots. Counting a million takes as long as hundreds of setups, so it is done
 * seldom, and setups under way may pass the maximum by a few.
 */
export interface RobotRoom {
  readonly maximum: number;
  isFull(owner: RobotOwner): Promise<boolean>;
  /** A robot was added. */
  take(owner: RobotOwner): void;
}

/** Whose robots are counted: all of an organization, or those that one of its keys added. */
export interface RobotOwner {
  readonly organization_id: string;
  readonly key_id: string;
}

export function createRobotRoom(
  whose: keyof RobotOwner,
  maximum: number,
  countRobots: (owner: RobotOwner) => Promise<number>,
): RobotRoom {
  const counts = new Map<string, Count>();
  const counting = new Map<string, Promise<Count>>();

  async function count(owner: RobotOwner): Promise<Count> {
    const id = owner[whose];
    try {
      const fresh = { room: maximum - (await countRobots(owner)), taken: 0 };
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
      const { room } = known === undefined || isStale(known) ? await countOnce(owner) : known;
      return room <= 0;
    },
    take(owner) {
      const known = counts.get(owner[whose]);
      if (known !== undefined) known.taken += 1;
    },
  };
}

interface Count {
  /** What was left of the maximum. */
  readonly room: number;
  /** How much of that this process has taken since. */
  taken: number;
}

/** Who is full stays so: robots do not go. */
function isStale({ room, taken }: Count): boolean {
  return room > 0 && taken * REPLICAS_EXPECTED >= room;
}
