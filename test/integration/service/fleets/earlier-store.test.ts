/** Stores of programs that had fleets whose robots joined and left by a selector. */
import { join } from "node:path";

import { sql } from "kysely";
import { expect, it } from "vitest";

import { fleetDetailsSchema } from "../../../../src/api/fleet-details.ts";
import { fleetViewSchema } from "../../../../src/api/fleets.ts";
import { backUp } from "../../../../src/service/kernel/store/copies/backup.ts";
import { restore } from "../../../../src/service/kernel/store/copies/restore.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { StoreLocation, Transaction } from "../../../../src/service/kernel/store/store.ts";
import { ADDED, DROPPED, TABLES } from "../../../../src/service/kernel/store/tables.ts";
import { testFolder } from "../../../support/folder.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { insertModel } from "../../../support/service/rows.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

/** Undoes what later steps did to tables and columns. */
async function makeEarlierTables({ schema }: Transaction): Promise<void> {
  for (const [table, columns] of Object.entries(DROPPED)) {
    if (!Object.hasOwn(TABLES, table)) await schema.createTable(table).addColumn("id", "text").execute();
    for (const [name, { type }] of Object.entries(columns)) {
      if (name === "id") continue;
      await schema
        .alterTable(table)
        .addColumn(name, type, (column) => column.defaultTo(type === "text" ? "" : 0))
        .execute();
    }
  }
  for (const [table, columns] of Object.entries(ADDED)) {
    for (const column of columns) await schema.alterTable(table).dropColumn(column).execute();
  }
}

/** What else the schema had then and has not now, with a change that was still to come: r2 would have joined the fleet `lab`. */
const EARLIER = [
  "delete from migrations where name <> '0001-initial'",
  "create index fleets_that_follow on fleets (organization_id, id) where follows_since is not null",
  "create index audit_log_of_members on audit_log (subject_id, id) where action in ('fleet.join', 'fleet.leave', 'fleet.leave_out')",
  "create unique index refusals_alike on refusals (organization_id, robot, status, actor, address)",
  "create index refusals_newest on refusals (organization_id, last_at)",
  "drop index audit_log_of_robots",
  "update fleets set follows_since = created_at, peak_active_robots = 9",
  "update fleets set left_out_robot_id = (select id from robots where name = 'r2') where name = 'lab'",
  "delete from fleet_members where fleet_id = (select id from fleets where name = 'left')",
  "insert into fleet_checks select id, organization_id, id, 'key_1', null from robots where name = 'r2'",
  "insert into audit_log (id, organization_id, at, actor, action, subject_id, details) select 'aud_00000000000000000000000000', organization_id, created_at, 'key_1', 'fleet.join', id, '{}' from fleets where name = 'lab'",
];

async function write(location: StoreLocation, job: (transaction: Transaction) => Promise<unknown>): Promise<void> {
  await using store = await openStore(location, testMachine);
  await store.write(job);
}

const setUp = (service: RunningService, name: string) =>
  service.send("POST", "/v1/robots/setup", {
    name,
    robot_type_id: "t",
    region: "x",
    site: "lab",
    configuration_digest: `sha256:${"0".repeat(64)}`,
  });

/** Where a store is made, and how a later version gets it. */
const ways: readonly (readonly [
  what: string,
  source: (newPlace: NewStore) => Promise<StoreLocation>,
  way: (store: StoreLocation, newPlace: NewStore) => Promise<StoreLocation>,
])[] = [
  ["opened", (newPlace) => newPlace(), async (store) => store],
  [
    "backed up and restored",
    async () => ({ kind: "sqlite", dataDirectory: testFolder("earlier-store") }),
    async (store, newPlace) => {
      const file = join(testFolder("earlier-store"), "backup.db");
      const options = { signal: new AbortController().signal, onProgress() {} };
      expect(await backUp(store, file, testMachine)).toMatchObject({ schema: "0001-initial" });
      const place = await newPlace();
      expect(await restore(file, place, testMachine, options)).toMatchObject({ state: "copied" });
      return place;
    },
  ],
];

describeOnEachStore("a store from when fleets followed their selectors", (_newStore, newPlace) => {
  it.each(ways)("%s → its fleets keep the robots that they have", async (_what, source, way) => {
    const [earlier, keyFolder] = [await source(newPlace), testFolder("earlier-store")];
    await write(earlier, (transaction) => insertModel(transaction, { slug: "pi", id: "ckpt_pi" }));
    const ids = await (async () => {
      await using service = await startService({ store: earlier, dataDirectory: keyFolder });
      await setUp(service, "r1");
      const ids: string[] = [];
      for (const name of ["lab", "left"]) {
        const selection = { selector: { site: "lab" } };
        const fleet = { name, subject: "pi", selection, peak_active_robots: 1, readiness_mode: "always_ready" };
        const made = await service.send("POST", "/v1/fleets", fleet);
        ids.push(fleetViewSchema.parse(await made.json()).id);
      }
      await setUp(service, "r2");
      return ids;
    })();
    await write(earlier, async (transaction) => {
      await makeEarlierTables(transaction);
      for (const statement of EARLIER) await sql.raw(statement).execute(transaction);
    });

    const location = await way(earlier, newPlace);
    {
      await using service = await startService({ store: location, dataDirectory: keyFolder });
      await setUp(service, "r3");
      const detailsOf = async (id = "") => {
        const details = await service.send("GET", `/v1/fleets/${id}/details`);
        return fleetDetailsSchema.parse(await details.json());
      };
      const [lab, left] = await Promise.all(ids.map(detailsOf));
      expect(lab?.members.map(({ robot }) => robot)).toEqual(["r1"]);
      expect(lab?.selection).toEqual({
        kind: "selector",
        selector: { site: "lab", region: null, robot_type_id: null, labels: {} },
      });
      expect([left?.members, left?.needs]).toEqual([
        [],
        [
          {
            reason: "This fleet has no robots.",
            action: "Take its members again: robot-policy fleets reconcile left, or delete it.",
          },
        ],
      ]);
      await service.send("DELETE", "/v1/robots/r1");
      expect((await detailsOf(ids[0])).members).toMatchObject([{ robot: "r1", state: "blocked" }]);
      expect(await (await service.send("GET", "/v1/fleets")).json()).toMatchObject([
        { name: "lab", peak_active_robots: 9, robots: { registered: 1 } },
        { name: "left", status: "blocked", robots: { registered: 0 } },
      ]);
      const log = await (await service.send("GET", "/v1/me/audit")).text();
      expect(log).toContain('"action":"fleet.join"');
    }
    await using store = await openStore(location, testMachine);
    const tables = await store.reader.introspection.getTables();
    const columns = tables.flatMap(({ name, columns: all }) => all.map((column) => `${name}.${column.name}`));
    expect(columns.filter((column) => /fleet_checks|follows|left_out/.test(column))).toEqual([]);
  });
});
