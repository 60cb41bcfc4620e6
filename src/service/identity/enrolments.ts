/** Enrolments: computers without a credential that wait until somebody approves them. Their rows and states. */
import { sql } from "kysely";
import * as z from "zod";

import type { EnrolmentEnd } from "../../api/enrolments.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import type { PresenceContext } from "./presence.ts";
import { chunksOf } from "../kernel/auth/lineage.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { AuditEntry } from "../kernel/store/audit.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { createPruning } from "../kernel/tasks/pruning.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";

export type EnrolmentRow = Tables["enrolments"];
export type EnrolmentsContext = OperationContext & PresenceContext;

/** An enrolment that nobody has decided. */
export const UNDECIDED = {
  status: "pending",
  organization_id: null,
  decided_by: null,
  made_by: null,
  decided_at: null,
  decided_name: null,
  decided_region: null,
  key_id: null,
} as const satisfies Partial<EnrolmentRow>;

/** States of an enrolment at a moment; an installed one is approved and has an installation. */
export type EnrolmentState = "pending" | "approved" | "installed" | EnrolmentEnd;

/** The state at `now` (ISO 8601), also where the task that expires enrolments has not come yet. */
export function stateAt(
  { status, installation_id: installationId, expires_at: expiresAt }: EnrolmentRow,
  now: string,
): EnrolmentState {
  const isOver = expiresAt <= now;
  switch (status) {
    case "pending":
      return isOver ? "expired" : "pending";
    case "approved":
      if (installationId === null) return isOver ? "expired" : "approved";
      return isOver ? "consumed" : "installed";
    case "denied":
    case "expired":
    case "consumed":
      return status;
  }
}

/** Whether people of the organization may find the enrolment by its code. */
export function isFoundBy(
  { organization_id: owner, wanted_organization_id: wanted }: EnrolmentRow,
  organizationId: string,
): boolean {
  return owner === null ? wanted === null || wanted === organizationId : owner === organizationId;
}

/** What logs and audit entries say of an enrolment: enough to recognize it, and no secret. */
export function shownOf(row: EnrolmentRow) {
  return {
    approval_id: row.id,
    requested_name: row.requested_name,
    address: row.client_address,
    key_fingerprint: keyFingerprint(row.public_key),
    ...(row.key_id === null ? {} : { key_id: row.key_id }),
  };
}

/** An entry of the audit log about an enrolment. */
export function entryOf(action: AuditEntry["action"], row: EnrolmentRow, more: AuditEntry["details"] = {}): AuditEntry {
  const { approval_id: subjectId, ...details } = shownOf(row);
  return { action, subjectId, details: { ...details, ...more } };
}

/** Enrolments that wait for a person, in the whole service: anyone may start one without a credential. */
export const WAITING_MAXIMUM = 10_000;
/** Enrolments that a list shows. */
const LISTED_MAXIMUM = 1000;

export function findEnrolment(reader: Reader, id: string): Promise<EnrolmentRow | undefined> {
  return reader.selectFrom("enrolments").selectAll().where("id", "=", id).executeTakeFirst();
}

/** The enrolment, with its row locked until the transaction ends. */
export function lockEnrolment(transaction: Transaction, id: string): Promise<EnrolmentRow | undefined> {
  return transaction.selectFrom("enrolments").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
}

/** The newest enrolment of this code that has not ended at `now` (ISO 8601). */
export function findByCode(reader: Reader, userCode: string, now: string): Promise<EnrolmentRow | undefined> {
  return reader
    .selectFrom("enrolments")
    .selectAll()
    .where("user_code", "=", userCode)
    .where("status", "in", ["pending", "approved"])
    .where("expires_at", ">", now)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
}

/** Whether `WAITING_MAXIMUM` enrolments wait for a person at `now` (ISO 8601). */
export async function areTooManyWaiting(reader: Reader, now: string): Promise<boolean> {
  const last = await reader
    .selectFrom("enrolments")
    .select("id")
    .where("status", "=", "pending")
    .where("expires_at", ">", now)
    .offset(WAITING_MAXIMUM - 1)
    .limit(1)
    .executeTakeFirst();
  return last !== undefined;
}

/**
 * Makes room for an enrolment from `site`: ends the newest waiting enrolment of the site that has the most of them.
 *
 * @returns the site; null if that of the new enrolment has as many itself.
 */
export async function endOneOfLargest(transaction: Transaction, site: string, now: string): Promise<string | null> {
  const waiting = transaction.selectFrom("enrolments").where("status", "=", "pending").where("expires_at", ">", now);
  const sizes = waiting.select(["client_site", ({ fn }) => fn.countAll<number>().as("count")]).groupBy("client_site");
  const largest = await sizes.orderBy("count", "desc").limit(1).executeTakeFirst();
  const own = await sizes.where("client_site", "=", site).executeTakeFirst();
  if (largest === undefined || largest.count <= (own?.count ?? 0) + 1) return null;
  const { client_site: largestSite } = largest;
  const newest = waiting.select("id").where("client_site", "=", largestSite).orderBy("id", "desc").limit(1);
  const row = await newest.forUpdate().skipLocked().executeTakeFirst();
  if (row === undefined) return null;
  await updateEnrolment(transaction, row.id, { status: "expired" });
  return largestSite;
}

/** Enrolments that wait at `now` (ISO 8601) and name the organization, newest first; with `orNobody`, also those that name none. */
export function listWaiting(
  reader: Reader,
  organizationId: string,
  orNobody: boolean,
  now: string,
): Promise<readonly EnrolmentRow[]> {
  return reader
    .selectFrom("enrolments")
    .selectAll()
    .where("status", "=", "pending")
    .where("expires_at", ">", now)
    .where((where) =>
      where.or([
        where("wanted_organization_id", "=", organizationId),
        ...(orNobody ? [where("wanted_organization_id", "is", null)] : []),
      ]),
    )
    .orderBy("id", "desc")
    .limit(LISTED_MAXIMUM)
    .execute();
}

/** Adds an enrolment; false if its code or its key is that of another one that waits. */
export async function insertEnrolment(transaction: Transaction, enrolment: EnrolmentRow): Promise<boolean> {
  const inserted = await transaction
    .insertInto("enrolments")
    .values(enrolment)
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function updateEnrolment(
  transaction: Transaction,
  id: string,
  change: Partial<EnrolmentRow>,
): Promise<void> {
  await transaction.updateTable("enrolments").set(change).where("id", "=", id).execute();
}

/** Ends the enrolments that wait with this key, for a newer start with it. */
export async function expireWaitingOf(transaction: Transaction, publicKey: string): Promise<void> {
  await transaction
    .updateTable("enrolments")
    .set({ status: "expired" })
    .where("public_key", "=", publicKey)
    .where("status", "in", ["pending", "approved"])
    .where("installation_id", "is", null)
    .execute();
}

const PRUNE = { name: "prune-enrolments", intervalMs: 30_000 } as const;
/** How long an enrolment is kept after its end, so that its computer is told which end it was. */
const MEMORY_MS = 24 * 60 * 60 * 1000;

/** Ends enrolments that are over, and deletes them a day later. */
export function createPruneEnrolments(context: Pick<OperationContext, "store" | "machine">): Task {
  return createPruning(context, PRUNE, async ({ transaction, ago, maximum }) =>
    Math.max(await expireDue(transaction, ago(0), maximum), await deleteEnded(transaction, ago(MEMORY_MS), maximum)),
  );
}

/** Ends enrolments that are over at `now` (ISO 8601); returns how many, `maximum` at most. */
async function expireDue(transaction: Transaction, now: string, maximum: number): Promise<number> {
  const due = transaction
    .selectFrom("enrolments")
    .select("id")
    .where("status", "in", ["pending", "approved"])
    .where("expires_at", "<=", now)
    .orderBy("id")
    .limit(maximum)
    .forUpdate();
  const ended = await transaction
    .updateTable("enrolments")
    .set({
      status: sql<"consumed" | "expired">`case when installation_id is null then 'expired' else 'consumed' end`,
    })
    .where("id", "in", due)
    .returning("id")
    .execute();
  return ended.length;
}

/** Deletes enrolments that expired before `before` (ISO 8601); returns how many, `maximum` at most. */
async function deleteEnded(transaction: Transaction, before: string, maximum: number): Promise<number> {
  const ended = transaction
    .selectFrom("enrolments")
    .select("id")
    .where("status", "in", ["denied", "expired", "consumed"])
    .where("expires_at", "<", before)
    .limit(maximum);
  const deleted = await transaction.deleteFrom("enrolments").where("id", "in", ended).returning("id").execute();
  return deleted.length;
}

/** Denies the enrolments that one of these keys approved and that have no installation yet. */
export async function denyEnrolmentsOf(transaction: Transaction, keyIds: readonly string[]): Promise<void> {
  for (const ids of chunksOf(keyIds)) {
    await transaction
      .updateTable("enrolments")
      .set({ status: "denied" })
      .where("made_by", "in", ids)
      .where("status", "=", "approved")
      .where("installation_id", "is", null)
      .execute();
  }
}

/** Ends the enrolment that an installation came from: its credential was used, so no poll may answer with another one. */
export async function consumeEnrolment(transaction: Transaction, installationId: string): Promise<void> {
  await transaction
    .updateTable("enrolments")
    .set({ status: "consumed" })
    .where("installation_id", "=", installationId)
    .where("status", "=", "approved")
    .execute();
}

/** What a key for enrolments says of the robots that enroll with it. */
export type KeyEnrolment = z.output<typeof keyEnrolmentSchema>;

const keyEnrolmentSchema = z.object({
  /** How many robots may enroll; `uses_remaining` of the key counts down from it. */
  uses: z.int(),
  site: z.string().nullable(),
  region: z.string().nullable(),
  /** Text of a JSON object. */
  labels: z.string(),
});

/** Decodes it from the store; null for a key for anything else. */
export function readKeyEnrolment(enrolment: string | null): KeyEnrolment | null {
  return enrolment === null ? null : keyEnrolmentSchema.parse(JSON.parse(enrolment));
}
