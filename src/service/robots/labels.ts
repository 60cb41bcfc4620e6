import { hash } from "node:crypto";

import { prepare } from "../kernel/store/prepared.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

export type Label = readonly [name: string, value: string];

/** Labels from their JSON text, also one called `__proto__`. */
export function readLabels(text: string): readonly Label[] {
  const labels: unknown = JSON.parse(text);
  if (typeof labels !== "object" || labels === null) return [];
  return Object.entries(labels).filter((label): label is [string, string] => typeof label[1] === "string");
}

/** Key of a label in the index of robots: SHA-256 in hex. */
export function labelHash(label: Label): string {
  return hash("sha256", JSON.stringify(label));
}

export async function removeLabels(transaction: Transaction, robotId: string): Promise<void> {
  await deleteLabels(transaction, { robot_id: robotId });
}

/** Adds a robot to the index of labels. It must have none of these labels there yet. */
export async function addLabels(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
  hashes: readonly string[],
): Promise<void> {
  for (const labelSha256 of hashes)
    await insertLabel(transaction, { organization_id: organizationId, label_sha256: labelSha256, robot_id: robotId });
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
