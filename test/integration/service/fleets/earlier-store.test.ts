/** Stores of earlier programs: fleets whose robots joined and left by a selector, computers that a list of keys let enroll, deliveries of webhooks. */
import { join } from "node:path";

import { sql } from "kysely";
import { expect, it } from "vitest";

import { fleetDetailsSchema } from "../../../../src/api/fleet-details.ts";
import { fleetViewSchema } from "../../../../src/api/fleets.ts";
import { backUp } from "../../../../src/service/kernel/store/backups/backup.ts";
import { restore } from "../../../../src/service/kernel/store/backups/restore.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { StoreLocation, Transaction } from "../../../../src/service/kernel/store/store.ts";
import { testFolder } from "../../../support/folder.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { statementsBackTo } from "../../../support/service/earlier-schema.ts";
import { insertModel } from "../../../support/service/rows.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

/**
 * A key that could add three robots, and what was still to come: r2 would have joined the fleet `lab`, a computer whose key was on the list would have fetched its credential, and
 * of two webhooks, one of them disabled, an event would have been delivered.
 */
const PENDING = [
  "update fleets set follows_since = created_at, peak_active_robots = 9",
  "update fleets set left_out_robot_id = (select id from robots where name = 'r2') where name = 'lab'",
  "delete from fleet_members where fleet_id = (select id from fleets where name = 'left')",
  "insert into fleet_checks select id, organization_id, id, 'key_1', null from robots where name = 'r2'",
  "insert into allowed_keys select 'akey_1', organization_id, 'SHA256:a', created_at, created_at, 'key_1', 'key_1', null, null from fleets where name = 'lab'",
  "insert into enrolments (id, status, public_key, user_code, poll_token_sha256, requested_name, labels, configuration_digest, client_address, client_site, created_at, expires_at, confirm_replace, allowed_key_id) select 'renr_1', 'approved', 'key', 'WXYZ2345', '', 'r9', '{}', '', '', '', created_at, '2099-01-01T00:00:00.000Z', 0, 'akey_1' from fleets where name = 'lab'",
  "insert into webhooks (id, organization_id, url, events, secret, created_at, listening_since, dropped_events) select 'wh_1', organization_id, 'https://receiver.invalid/', '[\"robot.frozen\"]', 'whsec_AAAA', created_at, created_at, 0 from fleets where name = 'lab'",
  "insert into webhooks (id, organization_id, url, secret, created_at, listening_since, dropped_events, disabled_at, disabled_reason) select 'wh_2', organization_id, url, secret, created_at, created_at, 0, created_at, 'gone' from webhooks",
  ...[
    ["whd_1", "wh_1", "pending"],
    ["whd_2", "wh_1", "delivered"],
    ["whd_3", "wh_2", "pending"],
  ].map(
    ([id, webhook, status]) =>
      `insert into webhook_deliveries (id, organization_id, webhook_id, event_id, event_type, body, status, attempts, created_at, next_attempt_at) select '${id}', organization_id, '${webhook}', 'evt_1', 'robot.frozen', '{}', '${status}', 1, created_at, '2099-01-01T00:00:00.000Z' from webhooks where id = '${webhook}'`,
  ),
  "insert into api_keys (id, organization_id, label, key_sha256, key_prefix, key_last4, scopes, created_at, created_by, max_robots) select 'key_bound', organization_id, 'bound', 'hash', 'sk_rps_', 'last', '[\"robots:setup\"]', created_at, 'command', 3 from api_keys",
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
      for (const statement of [...(await statementsBackTo("0001-initial")), ...PENDING])
        await sql.raw(statement).execute(transaction);
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
    expect(
      columns.filter((column) =>
        /fleet_checks|follows|left_out|allowed_key|webhook_deliveries|disabled_at|max_robots/.test(column),
      ),
    ).toEqual([]);
    expect(await store.reader.selectFrom("enrolments").select(["id", "status"]).execute()).toEqual([
      { id: "renr_1", status: "expired" },
    ]);
    const revoked = store.reader.selectFrom("api_keys").select("id").where("revoked_at", "is not", null);
    expect(await revoked.execute()).toEqual([{ id: "key_bound" }]);
    expect(await store.reader.selectFrom("webhooks").select("id").execute()).toEqual([{ id: "wh_1" }]);
    expect(await store.reader.selectFrom("webhook_outbox").selectAll().execute()).toMatchObject([
      { id: "whd_1", webhook_id: "wh_1", attempts: 1 },
    ]);
  });
});
