import { worksAt } from "../kernel/auth/credentials.ts";
import { chunksOf } from "../kernel/auth/lineage.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { inRange, type PageRange } from "../kernel/lists/page-range.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { isOnlyOrganization, lockOrganization } from "../organizations/index.ts";
import { findRobotNamed, type RobotQuota } from "../robots/index.ts";
import { approvalOf, decide, type EnrolmentRow } from "./rules.ts";

export type AllowedKeyRow = Tables["allowed_keys"];

/** An entry with what a view shows beside it. */
export type ListedKeyRow = AllowedKeyRow & {
  readonly label: string | null;
  readonly robot: string | null;
  /** When the API key expires that allowed it. */
  readonly key_expires_at: string | null;
};

/** What approves an enrolment at its start, unless the entry is gone or the name is taken by then. */
export interface Allowed {
  readonly entry: AllowedKeyRow;
  readonly name: string;
  readonly region: string;
}

/** Null where a person has to decide: the key is not allowed, name or region are missing or wrong, or the organization is full. */
export async function prepareAllowed(reader: Reader, quota: RobotQuota, row: EnrolmentRow): Promise<Allowed | null> {
  const entry = await findAllowed(reader, row);
  const decision = decide(row, {});
  if (entry === undefined || decision.state === "invalid") return null;
  if ((await quota.organizationRefusal({ organizationId: entry.organization_id })) !== null) return null;
  return { entry, name: decision.name, region: decision.region };
}

/**
 * The unused entry for the computer of an enrolment; it ends with the API key that it was made with. An enrolment that names no organization
 * is approved only where there is no other: otherwise anybody who knows a computer's key could allow it first, and have it enroll with them.
 */
async function findAllowed(
  reader: Reader,
  row: Pick<EnrolmentRow, "public_key" | "wanted_organization_id" | "created_at">,
): Promise<AllowedKeyRow | undefined> {
  const { wanted_organization_id: wanted, created_at: now } = row;
  const unused = reader
    .selectFrom("allowed_keys")
    .innerJoin("api_keys", "api_keys.id", "allowed_keys.made_by")
    .selectAll("allowed_keys")
    .where("key_fingerprint", "=", keyFingerprint(row.public_key))
    .where("used_at", "is", null)
    .where("allowed_keys.expires_at", ">", now)
    .where(worksAt(now));
  if (wanted !== null) return unused.where("allowed_keys.organization_id", "=", wanted).executeTakeFirst();
  const found = await unused.executeTakeFirst();
  return found !== undefined && (await isOnlyOrganization(reader)) ? found : undefined;
}

/**
 * Approves an enrolment by an entry, in the name of who made the entry. It waits for a person instead if the entry is gone, or if there is a
 * robot of that name: the list never takes over a robot.
 */
export async function approveByList(
  transaction: Transaction,
  row: EnrolmentRow,
  { entry, name, region }: Allowed,
): Promise<EnrolmentRow> {
  const { id, organization_id: organizationId, created_by: credentialId, made_by: keyId } = entry;
  const isUnused = (await lockAllowed(transaction, id))?.used_at === null;
  if (!isUnused || (await findRobotNamed(transaction, organizationId, name)) !== undefined) return row;
  const by = { organizationId, credentialId, keyId };
  return { ...row, ...approvalOf(by, row.created_at, { name, region }), allowed_key_id: id };
}

/**
 * An entry, if it is still there, with its row locked. It may have been removed in the moment in which it approved an enrolment that the
 * removal did not see yet.
 */
export function lockAllowed(transaction: Transaction, id: string): Promise<AllowedKeyRow | undefined> {
  return transaction.selectFrom("allowed_keys").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
}

/** Notes that a computer enrolled by its entry, which is good for no other. */
export async function useAllowed(transaction: Transaction, id: string, robotId: string, at: string) {
  await transaction.updateTable("allowed_keys").set({ used_at: at, robot_id: robotId }).where("id", "=", id).execute();
}

/** Adds entries, or renews those that are there, unless the organization would have more than `maximum`. @returns whether they were added. */
export async function addAllowed(
  transaction: Transaction,
  organizationId: string,
  rows: readonly AllowedKeyRow[],
  maximum: number,
): Promise<boolean> {
  await lockOrganization(transaction, organizationId);
  const { count: others } = await transaction
    .selectFrom("allowed_keys")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("organization_id", "=", organizationId)
    .where(
      "key_fingerprint",
      "not in",
      rows.map(({ key_fingerprint: fingerprint }) => fingerprint),
    )
    .executeTakeFirstOrThrow();
  if (Number(others) + rows.length > maximum) return false;
  for (const some of chunksOf(rows)) {
    await transaction
      .insertInto("allowed_keys")
      .values(some)
      .onConflict((conflict) =>
        conflict.columns(["organization_id", "key_fingerprint"]).doUpdateSet(({ ref }) => ({
          created_at: ref("excluded.created_at"),
          expires_at: ref("excluded.expires_at"),
          created_by: ref("excluded.created_by"),
          made_by: ref("excluded.made_by"),
          used_at: null,
          robot_id: null,
        })),
      )
      .execute();
  }
  return true;
}

/** Removes an entry, and denies the enrolment that it approved, unless its computer has its credential. Undefined if there is none. */
export async function removeAllowed(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<AllowedKeyRow | undefined> {
  await transaction
    .updateTable("enrolments")
    .set({ status: "denied" })
    .where("allowed_key_id", "=", id)
    .where("organization_id", "=", organizationId)
    .where("status", "=", "approved")
    .where("installation_id", "is", null)
    .execute();
  return transaction
    .deleteFrom("allowed_keys")
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();
}

export function listAllowed(reader: Reader, organizationId: string, range: PageRange): Promise<ListedKeyRow[]> {
  const query = reader
    .selectFrom("allowed_keys")
    .leftJoin("api_keys", "api_keys.id", "allowed_keys.made_by")
    .leftJoin("robots", "robots.id", "allowed_keys.robot_id")
    .selectAll("allowed_keys")
    .select(["api_keys.label as label", "api_keys.expires_at as key_expires_at", "robots.name as robot"])
    .where("allowed_keys.organization_id", "=", organizationId);
  return inRange(query, "allowed_keys.id", range).execute();
}
