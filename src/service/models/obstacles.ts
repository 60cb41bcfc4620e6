import { hash } from "node:crypto";

import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { parseEquipment } from "../robots/index.ts";
import { incompatibility } from "./compatibility.ts";
import { parseRequirements } from "./requirements.ts";

/** A robot to check, or one that represents all with its type and equipment. */
export interface JudgedRobot extends Pick<Tables["robots"], "robot_type_id" | "equipment_sha256"> {
  readonly robot_id: string;
}

/** Characters of equipment that are processed before the event loop gets a turn. */
const LARGE_EQUIPMENT = 16_384;
/** Maximum number of cached verdicts, of a few hundred bytes each; the oldest are evicted. */
const VERDICTS_MAXIMUM = 100_000;

/**
 * Shared by all stores of the process: a verdict depends only on its key. Every evaluation of fleets and deployments needs verdicts;
 * for a thousand robots with different equipment they take 0.2 s without the cache, 1 ms with it.
 */
const remembered = new Map<string, string | null>();

/**
 * Why a checkpoint cannot drive these robots, in their order; null for each that it can drive.
 *
 * Robots with equal type and equipment are checked once. Equipment is read one at a time, because it may be as large as a request.
 *
 * @param requirements JSON text from the row of the checkpoint.
 */
export async function findObstacles(
  reader: Reader,
  robots: readonly JudgedRobot[],
  requirements: string,
): Promise<readonly (string | null)[]> {
  const digest = hash("sha256", requirements, "base64");
  const obstacles: (string | null)[] = [];
  for (const { robot_id: robotId, robot_type_id: robotTypeId, equipment_sha256: equipmentSha256 } of robots) {
    const key = JSON.stringify([robotTypeId, equipmentSha256, digest]);
    let obstacle = remembered.get(key);
    if (obstacle === undefined) {
      const row = equipmentSha256 === null ? null : await findEquipment(reader, robotId);
      const equipment = row === null || row.equipment === null ? null : parseEquipment(row.equipment);
      obstacle = incompatibility({ robot_type_id: robotTypeId, equipment }, parseRequirements(requirements));
      // Otherwise the robot has meanwhile registered with other equipment.
      if (equipmentSha256 === (row?.equipment_sha256 ?? null)) remember(key, obstacle);
      if ((row?.equipment?.length ?? 0) > LARGE_EQUIPMENT) await yieldEventLoop();
    }
    obstacles.push(obstacle);
  }
  return obstacles;
}

/** The same for one robot. */
export async function findObstacle(reader: Reader, robot: JudgedRobot, requirements: string): Promise<string | null> {
  const [obstacle = null] = await findObstacles(reader, [robot], requirements);
  return obstacle;
}

function findEquipment(reader: Reader, robotId: string) {
  return reader
    .selectFrom("robots")
    .select(["equipment", "equipment_sha256"])
    .where("id", "=", robotId)
    .executeTakeFirstOrThrow();
}

function remember(key: string, obstacle: string | null): void {
  for (const oldest of remembered.keys()) {
    if (remembered.size < VERDICTS_MAXIMUM) break;
    remembered.delete(oldest);
  }
  remembered.set(key, obstacle);
}
