import type { Clock } from "../../platform/clock.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { StoredBytes } from "../organizations/index.ts";
import { countRobots, countRobotsMadeBy } from "./queries.ts";

const MEBIBYTE = 1024 * 1024;

/** Room below the limits on robots. */
export interface Room {
  readonly key: RobotRoom;
  readonly organization: RobotRoom;
  readonly storedBytes: Pick<StoredBytes, "maximum" | "isFull">;
}

export function createRoom(
  {
    store: { reader },
    storedBytes,
    machine: { clock },
  }: Pick<OperationContext, "store" | "machine"> & Pick<Room, "storedBytes">,
  limits: RobotLimits,
): Room {
  const ofKey = ({ organizationId, keyId }: RobotOwner) => countRobotsMadeBy(reader, organizationId, keyId);
  const ofOrganization = ({ organizationId }: RobotOwner) => countRobots(reader, organizationId);
  return {
    storedBytes,
    key: createRobotRoom("keyId", limits.key, ofKey, clock),
    organization: createRobotRoom("organizationId", limits.organization, ofOrganization, clock),
  };
}

/** Which limit forbids a new robot, and what the client is told. */
export interface Full {
  readonly limit: "limits.stored_mib" | "limits.robots.key" | "limits.robots.organization";
  readonly detail: string;
}

export async function findFullLimit(room: Room, owner: RobotOwner): Promise<Full | null> {
  const full = await findFullOrganization(room, owner);
  if (full !== null) return full;
  return (await room.key.isFull(owner)) ? fullKey(room.key.maximum) : null;
}

/** As `findFullLimit`, but whatever key adds the robot. */
export async function findFullOrganization(room: Room, owner: RobotOwner): Promise<Full | null> {
  if (room.storedBytes.isFull(owner.organizationId)) return outOfSpace(room.storedBytes);
  if (await room.organization.isFull(owner)) {
    const detail = `An organization has ${room.organization.maximum} robots at most`;
    return { limit: "limits.robots.organization", detail };
  }
  return null;
}

/** Forbids larger contracts as well. */
function outOfSpace({ maximum }: Room["storedBytes"]): Full {
  const detail = `An organization stores ${maximum / MEBIBYTE} MiB at most: it gets no new robots, and no larger contracts`;
  return { limit: "limits.stored_mib", detail };
}

function fullKey(maximum: number): Full {
  const robots = maximum === 1 ? "one robot" : `${maximum} robots`;
  return { limit: "limits.robots.key", detail: `The API key has added ${robots}, as many as it may` };
}

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

function createRobotRoom(
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

/** Limits on new robots. Existing robots may always register again. */
export interface RobotLimits {
  /** Robots that one key may add; bounds the damage of a stolen key. */
  readonly key: number;
  /** Robots of one organization that were not removed. Lists and selections read all of them. */
  readonly organization: number;
}

export const ROBOT_LIMITS: RobotLimits = { key: 20_000, organization: 1_000_000 };
