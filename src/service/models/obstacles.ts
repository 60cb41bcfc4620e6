import { hash } from "node:crypto";

import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { parseEquipment } from "../robots/index.ts";
import { incompatibility } from "./compatibility.ts";
import { parseRequirements } from "./requirements.ts";

/** A robot to be judged, or one that stands for all of its type and equipment. */
export interface JudgedRobot extends Pick<Tables["robots"], "robot_type_id" | "equipment_sha256"> {
  readonly robot_id: string;
}

/** Characters of equipment that are judged before others are let in. */
const LARGE_EQUIPMENT = 16_384;
/** Verdicts that are remembered, of a few hundred bytes each; the oldest go. */
const VERDICTS_MAXIMUM = 100_000;

/**
 * Of all stores of the process: a verdict follows from its key alone. A thousand robots that each say something else are judged in 0.2 s,
 * and again in 1 ms; every look at fleets and deployments judges them.
 */
const remembered = new Map<string, string | null>();

/**
 * Why a checkpoint cannot drive these robots, in their order; null for each that it can.
 *
 * Robots of one type and equipment are judged once, and one at a time is read: what a contract says may be as large as a request.
 *
 * @param requirements as the row of the checkpoint has them.
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
      // Else it registered with other equipment meanwhile.
      if (equipmentSha256 === (row?.equipment_sha256 ?? null)) remember(key, obstacle);
      if ((row?.equipment?.length ?? 0) > LARGE_EQUIPMENT) await yieldEventLoop();
    }
    obstacles.push(obstacle);
  }
  return obstacles;
}

/** The same of one robot. */
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
