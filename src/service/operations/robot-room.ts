import { countRobots } from "../store/robots.ts";
import type { Reader } from "../store/store.ts";

/** Of the room that was left at the last count, one part in so many is taken before the next: so many replicas do not pass the maximum together. */
const REPLICAS_EXPECTED = 10;

/**
 * Whether organizations have room for more robots. Counting a million takes as long as hundreds of setups, so it is done
 * seldom, and setups under way may pass the maximum by a few.
 */
export interface RobotRoom {
  readonly maximum: number;
  isFull(organization_id: string): Promise<boolean>;
  /** A robot was added. */
  take(organization_id: string): void;
}

export function createRobotRoom(reader: Reader, maximum: number): RobotRoom {
  // One for each organization; only an administrator makes these.
  const counts = new Map<string, Count>();
  const counting = new Map<string, Promise<Count>>();

  async function count(organization_id: string): Promise<Count> {
    try {
      const fresh = { room: maximum - (await countRobots(reader, organization_id)), taken: 0 };
      counts.set(organization_id, fresh);
      return fresh;
    } finally {
      counting.delete(organization_id);
    }
  }

  function countOnce(organization_id: string): Promise<Count> {
    const underway = counting.get(organization_id) ?? count(organization_id);
    counting.set(organization_id, underway);
    return underway;
  }

  return {
    maximum,
    async isFull(organization_id) {
      const known = counts.get(organization_id);
      const { room } = known === undefined || isStale(known) ? await countOnce(organization_id) : known;
      return room <= 0;
    },
    take(organization_id) {
      const known = counts.get(organization_id);
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

/** An organization that is full stays so: robots do not go. */
function isStale({ room, taken }: Count): boolean {
  return room > 0 && taken * REPLICAS_EXPECTED >= room;
}
