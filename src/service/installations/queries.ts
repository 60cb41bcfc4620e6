import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { Presence } from "./presence.ts";

export type InstallationRow = Tables["installations"];

/** The live installation, of any organization, that has this public key. */
export function findLiveByKey(reader: Reader, publicKey: string): Promise<InstallationRow | undefined> {
  return reader
    .selectFrom("installations")
    .selectAll()
    .where("public_key", "=", publicKey)
    .where("state", "<>", "revoked")
    .executeTakeFirst();
}

/** The installation, with its row locked until the transaction ends. */
export function lockInstallation(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<InstallationRow | undefined> {
  return transaction
    .selectFrom("installations")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
}

/** The live installation of a robot, which may have an older id than one that it replaced, as ids follow clocks; else the last one. */
export function findInstallationOf(
  reader: Reader,
  organizationId: string,
  robotId: string,
): Promise<InstallationRow | undefined> {
  return reader
    .selectFrom("installations")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("robot_id", "=", robotId)
    .orderBy(({ eb }) => eb("state", "=", "revoked"))
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
}

/** Whether the live installation of a robot sent a heartbeat lately, to any replica. */
export async function isRobotOnline(
  reader: Reader,
  robot: Pick<Tables["robots"], "id" | "organization_id">,
  { seen, onlineSince }: Presence,
): Promise<boolean> {
  const installation = await reader
    .selectFrom("installations")
    .select(["id", "last_seen_at"])
    .where("organization_id", "=", robot.organization_id)
    .where("robot_id", "=", robot.id)
    .where("state", "=", "active")
    .executeTakeFirst();
  if (installation === undefined) return false;
  const { id, last_seen_at: stored } = installation;
  const lastSeen = seen(id, stored)?.at ?? stored;
  return lastSeen !== null && lastSeen >= onlineSince;
}

export async function updateInstallation(
  transaction: Transaction,
  id: string,
  change: Partial<
    Pick<InstallationRow, "state" | "generation" | "credential_expires_at" | "recoveries_remaining" | "recovery_until">
  >,
): Promise<void> {
  await transaction.updateTable("installations").set(change).where("id", "=", id).execute();
}
