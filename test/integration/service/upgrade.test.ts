/** The upgrade of a service: a store of the release before, an old replica beside a new one, and the way back by the backup made before. */
import { join } from "node:path";

import { type Kysely, sql } from "kysely";
import { describe, expect, it } from "vitest";

import { MIGRATIONS, type Migrations } from "../../../src/service/kernel/store/migrations.ts";
import { migrate } from "../../../src/service/kernel/store/migrator.ts";
import { openStore } from "../../../src/service/kernel/store/open-store.ts";
import { openPatiently } from "../../../src/service/kernel/store/postgres/store.ts";
import { openSqliteFile, SQLITE_FILE } from "../../../src/service/kernel/store/sqlite/store.ts";
import type { StoreLocation } from "../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../src/service/kernel/store/tables.ts";
import { testFolder } from "../../support/folder.ts";
import { execute } from "../../support/programs/execute.ts";
import { testMachine } from "../../support/robot/machine.ts";
import { statementsBackTo } from "../../support/service/earlier-schema.ts";
import { WITHOUT_POSTGRES } from "../../support/service/postgres.ts";
import { runServiceCommand } from "../../support/service/service-command.ts";
import { type RunningService, startService } from "../../support/service/service.ts";
import { describeOnEachStore, usePostgres } from "../../support/service/stores.ts";

const RELEASE_BEFORE = "0001-initial";
const STEPS = Object.keys(MIGRATIONS);

const setUp = (service: RunningService, name: string) =>
  service.send("POST", "/v1/robots/setup", {
    name,
    robot_type_id: "t",
    region: "x",
    configuration_digest: `sha256:${"0".repeat(64)}`,
  });

/** The store as it is, without a migration. */
const openAsItIs = (location: StoreLocation): Kysely<Tables> =>
  location.kind === "sqlite"
    ? openSqliteFile(join(location.dataDirectory, SQLITE_FILE), { readOnly: false })
    : openPatiently(location.url);

async function contentOf(location: StoreLocation): Promise<{ steps: readonly string[]; robots: readonly string[] }> {
  await using database = openAsItIs(location);
  const steps = await sql<{ name: string }>`select name from migrations order by name`.execute(database);
  const robots = await sql<{ name: string }>`select name from robots order by name`.execute(database);
  return { steps: steps.rows.map(({ name }) => name), robots: robots.rows.map(({ name }) => name) };
}

/** As the page says for each kind of store. */
async function backUp(store: StoreLocation, file: string): Promise<void> {
  if (store.kind === "postgres") await execute(["pg_dump", "--format=custom", `--file=${file}`, store.url]);
  else expect(await runServiceCommand("backup", file, "--data", store.dataDirectory)).toMatchObject({ code: 0 });
}

async function putBack(file: string, place: StoreLocation): Promise<void> {
  if (place.kind === "postgres") await execute(["pg_restore", "--no-owner", `--dbname=${place.url}`, file]);
  else expect(await runServiceCommand("restore", file, "--data", place.dataDirectory)).toMatchObject({ code: 0 });
}

describeOnEachStore("a store of the release before", (_newStore, newPlace) => {
  it("backed up, upgraded by a start → its robots, and new ones; the backup → that release's store again", async () => {
    const [store, keyFolder] = [await newPlace(), testFolder("upgrade")];
    {
      await using service = await startService({ store, dataDirectory: keyFolder });
      await setUp(service, "r1");
    }
    {
      await using database = openAsItIs(store);
      for (const statement of await statementsBackTo(RELEASE_BEFORE)) await sql.raw(statement).execute(database);
    }
    const file = join(keyFolder, "before-upgrade");
    await backUp(store, file);
    {
      await using service = await startService({ store, dataDirectory: keyFolder });
      expect((await setUp(service, "r2")).status).toBe(200);
      expect((await service.robots()).map(({ name }) => name).toSorted()).toEqual(["r1", "r2"]);
    }
    expect(await contentOf(store)).toEqual({ steps: STEPS, robots: ["r1", "r2"] });

    const place = await newPlace();
    await putBack(file, place);
    expect(await contentOf(place)).toEqual({ steps: [RELEASE_BEFORE], robots: ["r1"] });
  });
});

/** What a newer program does at its start. */
const NEWER: Migrations = {
  ...MIGRATIONS,
  "9999-crews": async (database) => database.schema.alterTable("fleets").renameTo("crews").execute(),
};

describe.skipIf(WITHOUT_POSTGRES)("an old replica beside a new one", { tags: "needs/postgres" }, () => {
  const databases = usePostgres();

  it("migrated by the new one → the old one is not ready, fails where the schema changed, and cannot start again", async () => {
    const [store, dataDirectory] = [await databases.empty(), testFolder("upgrade")];
    await using old = await startService({ store, dataDirectory });
    const statuses = async () => {
      const paths = ["/readyz", "/healthz", "/v1/robots", "/v1/fleets"];
      return Promise.all(paths.map(async (path) => (await old.send("GET", path)).status));
    };
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    const newer = await openStore(store, testMachine, (database, at) => migrate(database, at, NEWER));
    await newer[Symbol.asyncDispose]();
    // The answer to /readyz is kept for a second.
    await expect.poll(statuses).toEqual([503, 200, 200, 500]);
    expect(old.log()).toContain("a newer robot-policy-service wrote it (schema 9999-crews)");
    await expect(startService({ store, dataDirectory })).rejects.toThrow("store-is-newer");
  });
});
