import type { Kysely } from "kysely";
import { Migrator } from "kysely/migration";

import type { Tables } from "./tables.ts";

/** Steps of the schema, applied in the order of their names, each once and never changed after a release. */
const MIGRATIONS: Readonly<Record<string, { readonly up: (database: Kysely<unknown>) => Promise<void> }>> = {
  "0001-robots": { up: createRobots },
};

/**
 * Brings the schema up to date, all steps in one transaction.
 *
 * @throws when a step fails, or when the store was written by a newer program.
 */
export async function migrate(database: Kysely<Tables>): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve({ ...MIGRATIONS }) },
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw new Error("Cannot bring the schema up to date", { cause: error });
}

async function createRobots(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("organizations")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .execute();
  await database.schema
    .createTable("api_keys")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("label", "text", (column) => column.notNull())
    .addColumn("key_sha256", "text", (column) => column.notNull().unique())
    .addColumn("key_prefix", "text", (column) => column.notNull())
    .addColumn("key_last4", "text", (column) => column.notNull())
    .addColumn("scopes", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("last_used_at", "text")
    .addColumn("expires_at", "text")
    .addColumn("revoked_at", "text")
    .execute();
  await database.schema
    .createIndex("api_keys_by_organization")
    .on("api_keys")
    .columns(["organization_id", "id"])
    .execute();
  await database.schema
    .createTable("robots")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("robot_type_id", "text", (column) => column.notNull())
    .addColumn("region", "text", (column) => column.notNull())
    .addColumn("configuration_digest", "text", (column) => column.notNull())
    .addColumn("site", "text")
    .addColumn("labels", "text", (column) => column.notNull())
    .addColumn("contract", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .addUniqueConstraint("robots_by_name", ["organization_id", "name"])
    .execute();
  await database.schema.createIndex("robots_by_organization").on("robots").columns(["organization_id", "id"]).execute();
}
