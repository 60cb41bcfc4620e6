import { DatabaseSync } from "node:sqlite";

import { Kysely, sql } from "kysely";
import { expect, it } from "vitest";

import type { RobotSetup } from "../../../src/api/robots.ts";
import { addRobotViews } from "../../../src/service/store/robot-views.ts";
import { joinRobots, registrationOf, upsertRobot } from "../../../src/service/store/robots.ts";
import { NodeSqliteDialect } from "../../../src/service/store/sqlite-dialect.ts";
import type { Tables } from "../../../src/service/store/tables.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

it("robots of an older store look as if they registered today", async () => {
  await using database = new Kysely<Tables>({ dialect: new NodeSqliteDialect(new DatabaseSync(":memory:")) });
  await sql`create table robots (id text primary key, organization_id text, name text, robot_type_id text, region text,
    configuration_digest text, site text, labels text, contract text, created_at text, updated_at text,
    unique (organization_id, name))`.execute(database);
  const same = { robot_type_id: "so101", region: "x", configuration_digest: DIGEST };
  const setups: readonly RobotSetup[] = [
    { ...same, name: "plain" },
    { ...same, name: '"\\\u0001Zoë 🤖', site: "lab\n1", labels: { 'k"': "v\u007f", "10": "" }, contract: { a: [1] } },
  ];
  for (const [index, { name, robot_type_id, region, site, labels, contract }] of setups.entries()) {
    const texts = [JSON.stringify(labels ?? {}), contract ? JSON.stringify(contract) : null];
    await sql`insert into robots values (${`rob_${index}`}, 'org_1', ${name}, ${robot_type_id}, ${region}, ${DIGEST},
      ${site ?? null}, ${texts[0]}, ${texts[1]}, '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z')`.execute(
      database,
    );
  }
  await addRobotViews(database);
  for (const column of [
    "changed_at",
    "audit_id",
    "previous_audit_id",
    "recent_changes",
    "contested_since",
    "contested_at",
  ]) {
    await sql`alter table robots add column ${sql.ref(column)} text`.execute(database);
  }
  const all = { after: null, rows: 10 };
  const before = await joinRobots(database, "org_1", all);
  expect(JSON.parse(before.list)).toHaveLength(2);
  const changes = await database.transaction().execute(async (transaction) => {
    const done: string[] = [];
    for (const setup of setups) {
      const identity = { id: "rob_9", now: "2027-01-01T00:00:00.000Z", audit_id: "aud_9", recent_changes: "[]" };
      done.push((await upsertRobot(transaction, "org_1", registrationOf(setup), identity)).change);
    }
    return done;
  });
  expect(changes).toEqual(["replaced", "replaced"]);
  expect(await joinRobots(database, "org_1", all)).toEqual(before);
});
