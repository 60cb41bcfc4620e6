import { sql } from "kysely";
import type { Kysely } from "kysely";

interface OldRow {
  readonly id: string;
  readonly name: string;
  readonly robot_type_id: string;
  readonly region: string;
  readonly created_at: string;
  readonly site: string | null;
  readonly labels: string;
}

const ROWS_AT_ONCE = 1000;

/** Part of a migration: the robot view is kept with its row, so that a list is only put together. */
export async function addRobotViews(database: Pick<Kysely<unknown>, "schema" | "getExecutor">): Promise<void> {
  for (const column of ["view", "refitted_at"]) {
    await database.schema
      .alterTable("robots")
      .addColumn(column, "text", (definition) => definition.notNull().defaultTo(""))
      .execute();
  }
  await sql`update robots set refitted_at = updated_at`.execute(database);
  for (let after: string | undefined = ""; after !== undefined;) {
    const { rows }: { readonly rows: readonly OldRow[] } = await sql<OldRow>`
      select id, name, robot_type_id, region, created_at, site, labels from robots
      where id > ${after} order by id limit ${ROWS_AT_ONCE}`.execute(database);
    for (const row of rows) {
      await sql`update robots set view = ${viewOf(row)} where id = ${row.id}`.execute(database);
    }
    after = rows.at(-1)?.id;
  }
}

/** As robots.ts wrote it when this step was made. */
function viewOf({ labels, ...row }: OldRow): string {
  const { id, name, robot_type_id, region, created_at, site } = row;
  const members = JSON.stringify({ id, name, robot_type_id, region, created_at, site });
  return `${members.slice(0, -1)},"labels":${labels}}`;
}
