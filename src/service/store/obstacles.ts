import { hash } from "node:crypto";

import type { Transaction } from "kysely";

import { parseJson } from "../json/parse-json.ts";
import type { Json } from "../json/parse-json.ts";
import { letOthersIn } from "../let-others-in.ts";
import { incompatibility } from "../models/compatibility.ts";
import { parseRequirements } from "../models/requirements.ts";
import type { Reader } from "./store.ts";
import type { Tables } from "./tables.ts";

/** A robot as far as checkpoints judge it. */
export interface JudgedRobot {
  readonly robot_type_id: string;
  /** Of what its contract says; null where its type says everything. */
  readonly equipment_sha256: string | null;
  /** A robot with this equipment. */
  readonly robot_id: string;
}

/** Why a checkpoint with these requirements, as its row has them, cannot drive the robot; null when it can. */
export type ObstacleOf = (robot: JudgedRobot, requirements: string) => string | null;

type Question = readonly [robot: JudgedRobot, requirements: string];

/** Equipment in memory at a time: what one contract says may be as large as a request. */
const JUDGED_AT_A_TIME = 16;
/** Characters of equipment that are judged before others are let in. */
const LARGE_EQUIPMENT = 16_384;
/** Verdicts that are remembered, of a few hundred bytes each; the oldest go. */
const VERDICTS_MAXIMUM = 100_000;

/** Of all stores of the process: a verdict follows from its key alone. */
const remembered = new Map<string, string | null>();

/**
 * What stands between these robots and checkpoints. What a contract says is read when the first robot that says so is judged: a thousand
 * robots of one kind are judged once.
 */
export async function loadObstacles(
  reader: Reader | Transaction<Tables>,
  questions: readonly Question[],
): Promise<ObstacleOf> {
  const keyOf = createKeys();
  const verdicts = new Map<string, string | null>();
  const open = new Map<string, Question>();
  for (const question of questions) {
    const key = keyOf(...question);
    const known = remembered.get(key);
    if (known === undefined) open.set(key, question);
    else verdicts.set(key, known);
  }
  const unjudged = [...open];
  for (let start = 0; start < unjudged.length; start += JUDGED_AT_A_TIME) {
    const some = unjudged.slice(start, start + JUDGED_AT_A_TIME);
    const equipped = some.flatMap(([, [robot]]) => (robot.equipment_sha256 === null ? [] : [robot.robot_id]));
    const equipments = await loadEquipments(reader, equipped);
    for (const [key, [{ robot_type_id, robot_id, equipment_sha256 }, requirements]] of some) {
      const row = equipment_sha256 === null ? undefined : equipments.get(robot_id);
      const verdict = incompatibility(
        { robot_type_id, contract: readEquipment(row?.equipment ?? null) },
        parseRequirements(requirements),
      );
      verdicts.set(key, verdict);
      // Else it registered as another kind since the question was put.
      if (equipment_sha256 === (row?.equipment_sha256 ?? null)) remember(key, verdict);
      if ((row?.equipment?.length ?? 0) > LARGE_EQUIPMENT) await letOthersIn();
    }
  }
  return (robot, requirements) => {
    const verdict = verdicts.get(keyOf(robot, requirements));
    if (verdict === undefined) throw new Error("Nobody asked before whether a checkpoint can drive this robot");
    return verdict;
  };
}

/** The same of one robot. */
export async function findObstacle(
  reader: Reader | Transaction<Tables>,
  ...question: Question
): Promise<string | null> {
  const obstacleOf = await loadObstacles(reader, [question]);
  return obstacleOf(...question);
}

/** Requirements are the same few texts again and again. */
function createKeys(): (...question: Question) => string {
  const digests = new Map<string, string>();
  return ({ robot_type_id, equipment_sha256 }, requirements) => {
    let digest = digests.get(requirements);
    if (digest === undefined) {
      digest = hash("sha256", requirements, "base64");
      digests.set(requirements, digest);
    }
    return JSON.stringify([robot_type_id, equipment_sha256, digest]);
  };
}

type EquipmentRow = Pick<Tables["robots"], "id" | "equipment" | "equipment_sha256">;

async function loadEquipments(
  reader: Reader | Transaction<Tables>,
  robot_ids: readonly string[],
): Promise<ReadonlyMap<string, EquipmentRow>> {
  if (robot_ids.length === 0) return new Map();
  const rows = await reader
    .selectFrom("robots")
    .select(["id", "equipment", "equipment_sha256"])
    .where("id", "in", robot_ids)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

function readEquipment(text: string | null): Json | null {
  if (text === null) return null;
  const parsed = parseJson(text);
  if (parsed.state !== "parsed") throw new Error("The store has equipment that is not JSON");
  return parsed.value;
}

function remember(key: string, verdict: string | null): void {
  for (const oldest of remembered.keys()) {
    if (remembered.size < VERDICTS_MAXIMUM) break;
    remembered.delete(oldest);
  }
  remembered.set(key, verdict);
}
