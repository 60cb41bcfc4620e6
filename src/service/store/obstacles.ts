import { hash } from "node:crypto";

import type { Transaction } from "kysely";

import { parseJson } from "../json/parse-json.ts";
import type { Json } from "../json/parse-json.ts";
import { incompatibility } from "../models/compatibility.ts";
import { parseRequirements } from "../models/requirements.ts";
import type { Reader } from "./store.ts";
import type { Tables } from "./tables.ts";

/** A robot as far as checkpoints judge it. */
export interface JudgedRobot {
  readonly robot_type_id: string;
  /** Its id where it has a contract, and null where its type says everything: all of one type are alike then. */
  readonly contract_of: string | null;
  /** When it became what it is; null together with `contract_of`. */
  readonly refitted_at: string | null;
}

/** Why a checkpoint with these requirements, as its row has them, cannot drive the robot; null when it can. */
export type ObstacleOf = (robot: JudgedRobot, requirements: string) => string | null;

/** Contracts in memory at a time: each may be as large as a request. */
const CONTRACTS_AT_A_TIME = 16;
/** Verdicts that are remembered, of a few hundred bytes each; the oldest go. */
const VERDICTS_MAXIMUM = 100_000;

/** Of all stores of the process: a verdict follows from its key alone. */
const remembered = new Map<string, string | null>();

/**
 * What stands between these robots and checkpoints. A contract is read when its robot is judged for the first time: contracts
 * are large, there may be thousands of them, and they seldom change.
 */
export async function loadObstacles(
  reader: Reader | Transaction<Tables>,
  questions: readonly (readonly [robot: JudgedRobot, requirements: string])[],
): Promise<ObstacleOf> {
  const keyOf = createKeys();
  const verdicts = new Map<string, string | null>();
  const open = new Map<string, readonly [robot: JudgedRobot, requirements: string]>();
  for (const question of questions) {
    const key = keyOf(...question);
    const known = remembered.get(key);
    if (known === undefined) open.set(key, question);
    else verdicts.set(key, known);
  }
  const unjudged = [...open];
  for (let start = 0; start < unjudged.length; start += CONTRACTS_AT_A_TIME) {
    const some = unjudged.slice(start, start + CONTRACTS_AT_A_TIME);
    const contracts = await loadContracts(
      reader,
      some.flatMap(([, [{ contract_of }]]) => contract_of ?? []),
    );
    for (const [key, [{ robot_type_id, contract_of }, requirements]] of some) {
      const contract = contract_of === null ? null : (contracts.get(contract_of) ?? null);
      const verdict = incompatibility(
        { robot_type_id, contract: readContract(contract) },
        parseRequirements(requirements),
      );
      verdicts.set(key, verdict);
      remember(key, verdict);
    }
  }
  return (robot, requirements) => {
    const verdict = verdicts.get(keyOf(robot, requirements));
    if (verdict === undefined) throw new Error("Nobody asked before whether a checkpoint can drive this robot");
    return verdict;
  };
}

/** Requirements are the same few texts again and again. */
function createKeys(): (robot: JudgedRobot, requirements: string) => string {
  const digests = new Map<string, string>();
  return ({ robot_type_id, contract_of, refitted_at }, requirements) => {
    let digest = digests.get(requirements);
    if (digest === undefined) {
      digest = hash("sha256", requirements, "base64");
      digests.set(requirements, digest);
    }
    return JSON.stringify([robot_type_id, contract_of, refitted_at, digest]);
  };
}

async function loadContracts(
  reader: Reader | Transaction<Tables>,
  robot_ids: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  if (robot_ids.length === 0) return new Map();
  const rows = await reader.selectFrom("robots").select(["id", "contract"]).where("id", "in", robot_ids).execute();
  return new Map(rows.map(({ id, contract }) => [id, contract]));
}

function readContract(text: string | null): Json | null {
  if (text === null) return null;
  const parsed = parseJson(text);
  if (parsed.state !== "parsed") throw new Error("The store has a contract that is not JSON");
  return parsed.value;
}

function remember(key: string, verdict: string | null): void {
  for (const oldest of remembered.keys()) {
    if (remembered.size < VERDICTS_MAXIMUM) break;
    remembered.delete(oldest);
  }
  remembered.set(key, verdict);
}
