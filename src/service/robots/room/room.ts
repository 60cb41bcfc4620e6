import type { Principal } from "../../kernel/auth/authenticate.ts";
import { holdKeyToAdd } from "../../kernel/auth/key-queries.ts";
import type { OperationContext } from "../../kernel/operation.ts";
import type { Transaction } from "../../kernel/store/store.ts";
import type { StoredBytes } from "../../organizations/index.ts";
import type { RobotLimits } from "./limits.ts";
import { countRobots, countRobotsMadeBy } from "../queries.ts";
import { createRobotRoom } from "./counted-room.ts";
import type { RobotOwner, RobotRoom } from "./counted-room.ts";

const MEBIBYTE = 1024 * 1024;

/** Room below the limits on robots. */
export interface Room {
  readonly key: RobotRoom;
  readonly organization: RobotRoom;
  readonly storedBytes: Pick<StoredBytes, "maximum" | "isFull">;
}

export function createRoom(
  { store: { reader }, storedBytes, machine: { clock } }: RoomContext,
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

interface RoomContext extends Pick<OperationContext, "store" | "machine"> {
  readonly storedBytes: Room["storedBytes"];
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

/** Checks `max_robots` of a key, which must be exact. */
export async function hasAddedAll(
  transaction: Transaction,
  { organizationId, keyId, robots: { maximum } }: Principal,
): Promise<Full | null> {
  if (maximum === null) return null;
  await holdKeyToAdd(transaction, organizationId, keyId);
  return (await countRobotsMadeBy(transaction, organizationId, keyId)) < maximum ? null : fullKey(maximum);
}

function fullKey(maximum: number): Full {
  const robots = maximum === 1 ? "one robot" : `${maximum} robots`;
  return { limit: "limits.robots.key", detail: `The API key has added ${robots}, as many as it may` };
}
