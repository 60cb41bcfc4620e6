/** @module-tag needs/postgres */
import { sql } from "kysely";
import { expect, test } from "vitest";

import { backUp } from "../../../../../src/service/kernel/store/backups/backup.ts";
import { restore } from "../../../../../src/service/kernel/store/backups/restore.ts";
import { openStore } from "../../../../../src/service/kernel/store/open-store.ts";
import { testFolder } from "../../../../support/folder.ts";
import { testMachine } from "../../../../support/robot/machine.ts";
import { startPgbouncer, WITHOUT_PGBOUNCER } from "../../../../support/service/pgbouncer.ts";
import { WITHOUT_POSTGRES } from "../../../../support/service/postgres.ts";
import { startService } from "../../../../support/service/service.ts";
import { usePostgres } from "../../../../support/service/stores.ts";
import { acknowledges, lostBy, startStorm } from "../../../../support/service/storm.ts";

const databases = usePostgres();
const IGNORED =
  "ignore_startup_parameters = extra_float_digits, statement_timeout, idle_in_transaction_session_timeout, lock_timeout, options";

const inFrontOf = test.skipIf(WITHOUT_POSTGRES || WITHOUT_PGBOUNCER);

inFrontOf.each([
  ["transaction pooling, as packaged", ["pool_mode = transaction"]],
  ["transaction pooling that ignores what a connection asks for", ["pool_mode = transaction", IGNORED]],
  ["session pooling", ["pool_mode = session", "default_pool_size = 40"]],
])("%s → two replicas answer everything, limits hold in each transaction", async (_mode, settings) => {
  await using pooler = await startPgbouncer((await databases.empty()).url, settings);
  const location = { kind: "postgres", url: pooler.url, poolSize: 8 } as const;
  const folder = testFolder("pgbouncer-test");
  {
    await using first = await startService({ store: location, dataDirectory: folder });
    await using second = await startService({ store: location, dataDirectory: folder });
    const storms = [startStorm(first, 8, "a"), startStorm(second, 8, "b")];
    await Promise.all(storms.map((storm) => acknowledges(storm, 100)));
    await Promise.all(storms.map((storm) => storm.stop()));
    expect(storms.flatMap(({ statuses }) => [...statuses.keys()])).toEqual([200, 200]);
    const robots = await first.robots();
    for (const storm of storms) expect(lostBy(storm, robots)).toEqual([]);
  }
  await using store = await openStore(location, testMachine);
  const limits = await store.write(async (transaction) => {
    const query = sql<{ readonly name: string; readonly setting: string }>`
      select name, setting from pg_settings
      where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') order by name`;
    return (await query.execute(transaction)).rows.map(({ name, setting }) => `${name} ${setting}`);
  });
  expect(limits).toEqual(["idle_in_transaction_session_timeout 15000", "lock_timeout 5000", "statement_timeout 15000"]);
});

inFrontOf("restore through transaction pooling → the same rows", async () => {
  await using to = await startPgbouncer((await databases.empty()).url, ["pool_mode = transaction"]);
  const folder = testFolder("pgbouncer-test");
  const from = { kind: "sqlite", dataDirectory: folder } as const;
  {
    await using store = await openStore(from, testMachine);
    await store.write((transaction) =>
      transaction.insertInto("organizations").values({ id: "org_1", name: "a", created_at: "2026" }).execute(),
    );
  }
  const options = { onProgress: () => {}, signal: new AbortController().signal };
  const path = `${folder}/robots.db`;
  expect(await backUp(from, path, testMachine)).toMatchObject({ state: "copied" });
  expect(await restore(path, { kind: "postgres", url: to.url }, testMachine, options)).toMatchObject({
    state: "copied",
  });
  await using store = await openStore({ kind: "postgres", url: to.url }, testMachine);
  expect(await store.reader.selectFrom("organizations").select("id").execute()).toEqual([{ id: "org_1" }]);
});
