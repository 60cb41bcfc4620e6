import { hash } from "node:crypto";

import type { Transaction } from "kysely";

import { parseJson } from "../json/parse-json.ts";
import type { Json } from "../json/parse-json.ts";
import { judgedPart } from "../models/robot-equipment.ts";
import { prepare } from "./prepared.ts";
import type { Tables } from "./tables.ts";

export type Label = readonly [name: string, value: string];

/** What stands for a label in the index of robots: SHA-256 in hex. */
export function labelHash(label: Label): string {
  return hash("sha256", JSON.stringify(label));
}

/** What checkpoints judge a robot by, as its row keeps it. @param contract JSON text. */
export function equipmentOf(contract: string | null): Pick<Tables["robots"], "equipment" | "equipment_sha256"> {
  if (contract === null) return { equipment: null, equipment_sha256: null };
  const equipment = judgedPart(parseStored(contract));
  return { equipment, equipment_sha256: hash("sha256", equipment) };
}

export async function removeLabels(transaction: Transaction<Tables>, robot_id: string): Promise<void> {
  await deleteLabels(transaction, { robot_id });
}

/** Has selectors find a robot by these labels, of which it has none yet. */
export async function addLabels(
  transaction: Transaction<Tables>,
  organization_id: string,
  robot_id: string,
  hashes: readonly string[],
): Promise<void> {
  for (const label_sha256 of hashes) await insertLabel(transaction, { organization_id, label_sha256, robot_id });
}

const deleteLabels = prepare<Pick<Tables["robot_labels"], "robot_id">, never>((database, parameter) =>
  database.deleteFrom("robot_labels").where("robot_id", "=", parameter("robot_id")),
);

const insertLabel = prepare<Tables["robot_labels"], never>((database, parameter) =>
  database.insertInto("robot_labels").values({
    organization_id: parameter("organization_id"),
    label_sha256: parameter("label_sha256"),
    robot_id: parameter("robot_id"),
  }),
);

function parseStored(text: string): Json {
  const parsed = parseJson(text);
  if (parsed.state !== "parsed") throw new Error("The store has a robot whose labels or contract are not JSON");
  return parsed.value;
}
