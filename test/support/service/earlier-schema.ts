import { DatabaseSync } from "node:sqlite";

import { Kysely, sql } from "kysely";

import { MIGRATIONS } from "../../../src/service/kernel/store/migrations.ts";
import { migrateWithin } from "../../../src/service/kernel/store/migrator.ts";
import { nodeSqliteDialect } from "../../../src/service/kernel/store/sqlite/dialect.ts";
import type { Tables } from "../../../src/service/kernel/store/tables.ts";

interface Schema {
  /** Tables with the types of their columns. */
  readonly tables: ReadonlyMap<string, Columns>;
  /** Statements that create them, by name. */
  readonly indexes: ReadonlyMap<string, string>;
}

/** Statements that turn the schema of a new store into that of an earlier step, but for references of columns that are gone since. */
export async function statementsBackTo(step: string): Promise<readonly string[]> {
  const [then, now] = [await schemaAt(step), await schemaAt(Object.keys(MIGRATIONS).at(-1) ?? step)];
  const later = Object.keys(MIGRATIONS).filter((name) => name > step);
  return [
    ...later.map((name) => `delete from migrations where name = '${name}'`),
    ...[...now.indexes.keys()].filter((name) => !then.indexes.has(name)).map((name) => `drop index ${name}`),
    ...[...now.tables.keys()].filter((name) => !then.tables.has(name)).map((name) => `drop table ${name}`),
    ...[...then.tables].flatMap(([table, columns]) => tableBackTo(table, columns, now.tables.get(table))),
    ...[...then.indexes].filter(([name]) => !now.indexes.has(name)).map(([, statement]) => statement),
  ];
}

type Columns = ReadonlyMap<string, string>;

function tableBackTo(table: string, then: Columns, now: Columns | undefined): readonly string[] {
  if (now === undefined) {
    return [`create table ${table} (${[...then].map((column) => column.join(" ")).join(", ")})`];
  }
  const gone = [...then].filter(([column]) => !now.has(column));
  const later = [...now.keys()].filter((column) => !then.has(column));
  return gone
    .map((column) => `alter table ${table} add column ${column.join(" ")}`)
    .concat(later.map((column) => `alter table ${table} drop column ${column}`));
}

async function schemaAt(step: string): Promise<Schema> {
  await using database = new Kysely<Tables>({ dialect: nodeSqliteDialect(new DatabaseSync(":memory:")) });
  await database.transaction().execute((transaction) => migrateWithin(transaction, "", { until: step }));
  // Rows that are there get an empty value where the earlier step wants one.
  const { rows: columns } = await sql<{ table: string; name: string; type: string }>`
    select object.name as "table", info.name, info.type || case when info."notnull" = 0 then ''
      when lower(info.type) = 'integer' then ' not null default 0' else ' not null default ''''' end as type
    from sqlite_schema as object join pragma_table_info(object.name) as info where object.type = 'table'
    order by object.rowid, info.cid`.execute(database);
  const tables = new Map<string, Map<string, string>>();
  for (const { table, name, type } of columns) tables.set(table, (tables.get(table) ?? new Map()).set(name, type));
  const { rows: indexes } = await sql<{ name: string; sql: string }>`
    select name, sql from sqlite_schema where type = 'index' and sql is not null`.execute(database);
  return { tables, indexes: new Map(indexes.map(({ name, sql: statement }) => [name, statement])) };
}
