import { type Kysely, sql } from "kysely";

import { MIGRATIONS, type Migrations } from "./migrations.ts";
import type { Tables, Transaction } from "./tables.ts";

/** The table with the migrations that a store has run. */
export const MIGRATION_TABLE = "migrations";

/** The store has migrations that this version of the program does not know; there are no downgrades. */
export class NewerSchemaError extends Error {
  constructor(step: string) {
    super(`a newer robot-policy-service wrote it (schema ${step})`);
  }
}

/** The data directory or database exists, but contains no store. */
export class NoStoreError extends Error {
  constructor() {
    super("there is no store of robot-policy-service");
  }
}

/**
 * Runs all missing migrations in one transaction. Programs that start at the same time wait for each other, and all but the first find
 * nothing to do.
 *
 * @param at ISO 8601, recorded as the time of the migrations.
 * @throws NewerSchemaError.
 */
export async function migrate(database: Kysely<Tables>, at: string, migrations?: Migrations): Promise<void> {
  await database.transaction().execute((transaction) => migrateWithin(transaction, at, { migrations }));
}

/** As `migrate`, for a store that must exist; does not create one. @throws NoStoreError, NewerSchemaError. */
export async function migrateExisting(database: Kysely<Tables>, at: string): Promise<void> {
  await database.transaction().execute(async (transaction) => {
    if ((await lastStep(transaction)) === null) throw new NoStoreError();
    await migrateWithin(transaction, at);
  });
}

/**
 * Runs the missing migrations up to `until`, or all, within a transaction.
 *
 * @returns how many migrations the store had run before.
 * @throws NewerSchemaError.
 */
export async function migrateWithin(
  transaction: Transaction,
  at: string,
  { until, migrations = MIGRATIONS }: { readonly until?: string; readonly migrations?: Migrations | undefined } = {},
): Promise<number> {
  const { adapter } = transaction.getExecutor();
  await adapter.acquireMigrationLock(transaction, { lockTable: MIGRATION_TABLE, lockRowId: "" });
  await sql`create table if not exists ${sql.table(MIGRATION_TABLE)}
    (name varchar(255) not null primary key, taken_at varchar(255) not null)`.execute(transaction);
  const taken = await takenSteps(transaction, migrations);
  for (const [name, takeStep] of Object.entries(migrations)) {
    if (!taken.includes(name)) {
      await takeStep(transaction);
      await sql`insert into ${sql.table(MIGRATION_TABLE)} values (${name}, ${at})`.execute(transaction);
    }
    if (name === until) break;
  }
  return taken.length;
}

/**
 * The last migration that a store has run; null if there is none.
 *
 * @throws NewerSchemaError.
 */
export async function lastStep(database: Kysely<Tables>): Promise<string | null> {
  const tables = await database.introspection.getTables();
  if (!tables.some(({ name }) => name === MIGRATION_TABLE)) return null;
  return (await takenSteps(database, MIGRATIONS)).at(-1) ?? null;
}

/** Finds out whether a newer program has migrated the store since this one opened it. @throws NewerSchemaError. */
export async function expectKnownSchema(database: Kysely<Tables>): Promise<void> {
  await takenSteps(database, MIGRATIONS);
}

/** @throws NewerSchemaError when one of them is unknown to this program. */
async function takenSteps(database: Kysely<Tables>, migrations: Migrations): Promise<readonly string[]> {
  const query = sql<{ readonly name: string }>`select name from ${sql.table(MIGRATION_TABLE)} order by name`;
  const { rows } = await query.execute(database);
  const unknown = rows.findLast(({ name }) => !Object.hasOwn(migrations, name));
  if (unknown !== undefined) throw new NewerSchemaError(unknown.name);
  return rows.map(({ name }) => name);
}
