import { chunksOf } from "../kernel/auth/lineage.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/** A pending or recently completed login. */
export type LoginRow = Tables["login_exchanges"];

/** Maximum logins in the whole service: anyone may start one without a credential. */
export const LOGINS_MAXIMUM = 10_000;

/**
 * Adds a login. At `LOGINS_MAXIMUM`, deletes the oldest login of the network that started most, in whatever state: a client that
 * starts thousands displaces only its own.
 */
export async function insertLogin(transaction: Transaction, login: LoginRow): Promise<void> {
  const { count } = await transaction
    .selectFrom("login_exchanges")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  const tooMany = count + 1 - LOGINS_MAXIMUM;
  if (tooMany > 0) await deleteOldestLogins(transaction, tooMany);
  await transaction.insertInto("login_exchanges").values(login).execute();
}

export function findLogin(reader: Reader, id: string): Promise<LoginRow | undefined> {
  return reader.selectFrom("login_exchanges").selectAll().where("id", "=", id).executeTakeFirst();
}

/** The login, with its row locked until the transaction ends. */
export function lockLogin(transaction: Transaction, id: string): Promise<LoginRow | undefined> {
  return transaction.selectFrom("login_exchanges").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
}

export async function updateLogin(
  transaction: Transaction,
  id: string,
  change: Partial<
    Pick<LoginRow, "state" | "delivery" | "code_sha256" | "organization_id" | "approved_by" | "last_polled_at">
  >,
): Promise<void> {
  await transaction.updateTable("login_exchanges").set(change).where("id", "=", id).execute();
}

/** Denies the logins that one of these keys approved and that have not become sessions yet. */
export async function denyLoginsOf(transaction: Transaction, keyIds: readonly string[]): Promise<void> {
  for (const ids of chunksOf(keyIds)) {
    await transaction
      .updateTable("login_exchanges")
      .set({ state: "denied", code_sha256: null })
      .where("approved_by", "in", ids)
      .where("state", "=", "approved")
      .execute();
  }
}

async function deleteOldestLogins(transaction: Transaction, count: number): Promise<void> {
  const greediest = transaction
    .selectFrom("login_exchanges")
    .select("client_site")
    .groupBy("client_site")
    .orderBy(({ fn }) => fn.countAll(), "desc")
    .limit(1);
  // Ids sort by start time.
  const oldest = transaction
    .selectFrom("login_exchanges")
    .select("id")
    .where("client_site", "=", greediest)
    .orderBy("id")
    .limit(count);
  await transaction.deleteFrom("login_exchanges").where("id", "in", oldest).execute();
}
