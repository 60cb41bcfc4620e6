import { isoTime } from "../../../platform/clock.ts";
import type { Reader } from "../store/store.ts";
import type { Tables, Transaction } from "../store/tables.ts";
import { chunksOf } from "./lineage.ts";

export type SessionRow = Tables["sessions"];

/** How long a session of the command line lasts. */
export const SESSION_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;
/** How long a console session lasts without requests; a visible page sends one every two seconds. */
export const CONSOLE_IDLE_MS = 12 * 60 * 60 * 1000;

/** When a console session expires unless it is used again, as ISO 8601. */
export function consoleIdleUntil({
  created_at: createdAt,
  last_used_at: lastUsedAt,
}: Pick<SessionRow, "created_at" | "last_used_at">): string {
  return isoTime(Date.parse(lastUsedAt ?? createdAt) + CONSOLE_IDLE_MS);
}

/** Looks up a session by the hash of its token. As for keys, this query has no organization yet. */
export function findSession(reader: Reader, tokenSha256: string): Promise<SessionRow | undefined> {
  return reader.selectFrom("sessions").selectAll().where("token_sha256", "=", tokenSha256).executeTakeFirst();
}

export async function insertSession(transaction: Transaction, session: SessionRow): Promise<void> {
  await transaction.insertInto("sessions").values(session).execute();
}

/** Ends one session at `at`; returns whether it was still active. */
export async function endSession(
  transaction: Transaction,
  organizationId: string,
  id: string,
  at: string,
): Promise<boolean> {
  // This lock waits for transactions that write with the session; an update alone would not.
  await transaction.selectFrom("sessions").select("id").where("id", "=", id).forUpdate().execute();
  const ended = await transaction
    .updateTable("sessions")
    .set({ revoked_at: at })
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .returning("id")
    .executeTakeFirst();
  return ended !== undefined;
}

/** Ends all sessions that these keys approved; returns how many. */
export async function endSessionsOf(
  transaction: Transaction,
  organizationId: string,
  keyIds: readonly string[],
  at: string,
): Promise<number> {
  let count = 0;
  for (const ids of chunksOf(keyIds)) {
    const own = transaction.selectFrom("sessions").select("id").where("created_by", "in", ids);
    await own.where("revoked_at", "is", null).orderBy("id").forUpdate().execute();
    const ended = await transaction
      .updateTable("sessions")
      .set({ revoked_at: at })
      .where("organization_id", "=", organizationId)
      .where("created_by", "in", ids)
      .where("revoked_at", "is", null)
      .returning("id")
      .execute();
    count += ended.length;
  }
  return count;
}

/** Deletes the oldest console sessions of a key, all but the newest `kept`. */
export async function deleteOldConsoleSessions(
  transaction: Transaction,
  organizationId: string,
  keyId: string,
  kept: number,
): Promise<void> {
  const own = transaction
    .selectFrom("sessions")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("created_by", "=", keyId)
    .where("kind", "=", "console");
  // SQLite has no offset without a limit.
  const [oldestKept] = await own
    .orderBy("id", "desc")
    .offset(kept - 1)
    .limit(1)
    .execute();
  if (oldestKept === undefined) return;
  await transaction
    .deleteFrom("sessions")
    .where("id", "in", own.where("id", "<", oldestKept.id))
    .execute();
}
