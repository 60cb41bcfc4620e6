import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { Kysely, sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";

import { MIGRATIONS } from "../../../src/service/store/migrations.ts";
import { migrateWithin } from "../../../src/service/store/migrator.ts";
import { NodeSqliteDialect } from "../../../src/service/store/sqlite-dialect.ts";
import { readRobotHistory } from "../../../src/service/store/robot-history.ts";
import { SQLITE_FILE } from "../../../src/service/store/sqlite-store.ts";
import { storeProblem } from "../../../src/service/store/store-problem.ts";
import { openStore } from "../../../src/service/store/store.ts";
import type { Store, StoreLocation } from "../../../src/service/store/store.ts";
import type { Tables } from "../../../src/service/store/tables.ts";
import { sharedPostgres, WITHOUT_POSTGRES } from "../../support/postgres.ts";
import { usePostgres } from "../../support/stores.ts";
import { testMachine } from "../../support/machine.ts";
import { memoryFolder } from "../../support/memory.ts";

const GOLDEN = join(import.meta.dirname, "../../golden/schema");
const STEPS = Object.keys(MIGRATIONS);
/** Schemas that a store in the field may have; the last one is still in the making until its release. */
const EARLIER = STEPS.slice(0, -1);

/** Another registration of the robot that has one, and entries that are none of its. */
const LATER_ENTRIES = `insert into audit_log values
  ('aud_02', 'org_01jgjx', '2026-02-02T00:00:00.000Z', 'key_01jgjx', null, 'deployment.create', 'rob_01jgjx', '{}'),
  ('aud_03', 'org_01jgjx', '2026-02-02T00:00:00.000Z', 'key_01jgjx', null, 'robot.setup', 'rob_of_nobody', '{}'),
  ('aud_04', 'org_01jgjx', '2026-02-03T00:00:00.000Z', 'key_01jgjx', null, 'robot.setup', 'rob_01jgjx', '{"name":"arm-1"}')`;

interface Engine {
  readonly name: "sqlite" | "postgres";
  /** An empty store. */
  locate(): Promise<StoreLocation>;
  /** Runs SQL text there, without the service. */
  execute(location: StoreLocation, text: string): Promise<void>;
}

const sqlite: Engine = {
  name: "sqlite",
  async locate() {
    const data_directory = await mkdtemp(join(memoryFolder, "migrations-"));
    onTestFinished(() => rm(data_directory, { recursive: true, force: true }));
    return { kind: "sqlite", data_directory };
  },
  async execute(location, text) {
    if (location.kind !== "sqlite") throw new Error("not a directory");
    const database = new DatabaseSync(join(location.data_directory, SQLITE_FILE));
    database.exec(text);
    database.close();
  },
};

const databases = usePostgres();

const postgres: Engine = {
  name: "postgres",
  locate: databases.empty,
  async execute(location, text) {
    if (location.kind !== "postgres") throw new Error("not a database");
    const client = await (await sharedPostgres()).connect(location.url);
    await client.query(text);
    await client.end();
  },
};

async function stepsOf(store: Store): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(store.reader);
  return rows.map(({ name }) => name);
}

const count = async (store: Store, table: "api_keys" | "organizations" | "robots") =>
  Number(
    (
      await store.reader
        .selectFrom(table)
        .select(({ fn }) => fn.countAll().as("n"))
        .executeTakeFirst()
    )?.n,
  );

for (const { name, locate, execute } of [sqlite, postgres]) {
  const goldenOf = (step: string) => readFile(join(GOLDEN, `${step}.${name}.sql`), "utf8");

  describe.skipIf(name === "postgres" && WITHOUT_POSTGRES)(`migrations on ${name}`, () => {
    it("what an earlier release left reads in the console as far as it is known", async () => {
      const location = await locate();
      await execute(location, await goldenOf("0002-fleets"));
      await execute(location, LATER_ENTRIES);
      await using store = await openStore(location, testMachine);
      const { reader } = store;
      const robots = await reader.selectFrom("robots").select(["changed_at", "updated_at"]).execute();
      expect(robots).toHaveLength(2);
      for (const { changed_at, updated_at } of robots) expect(changed_at).toBe(updated_at);
      const fleets = await reader.selectFrom("fleets").select("selection").execute();
      expect(structuredClone(fleets)).toEqual([{ selection: null }]);
      const history = await readRobotHistory(reader, "org_01jgjx", "rob_01jgjx", 200);
      const known = { configuration_digest: null, changed: null, actor: { id: "key_01jgjx" } };
      expect(history).toMatchObject([{ ...known, at: "2026-02-03T00:00:00.000Z" }, known]);
    });

    it.each(EARLIER)("a store of %s is brought up to date, and nothing is lost", async (step) => {
      const location = await locate();
      await execute(location, await goldenOf(step));
      await using store = await openStore(location, testMachine);
      expect(await stepsOf(store)).toEqual(STEPS);
      expect([await count(store, "organizations"), await count(store, "api_keys")]).toEqual([1, 2]);
      const robots = await store.reader
        .selectFrom("robots")
        .select(["id", "name", "robot_type_id", "region", "site", "labels", "contract", "created_at", "updated_at"])
        .orderBy("id")
        .execute();
      expect(structuredClone(robots)).toMatchInlineSnapshot(`
        [
          {
            "contract": null,
            "created_at": "2026-01-02T03:04:07.000Z",
            "id": "rob_01jgjx",
            "labels": "{}",
            "name": "arm-1",
            "region": "eu-west",
            "robot_type_id": "so101_follower",
            "site": null,
            "updated_at": "2026-01-02T03:04:07.000Z",
          },
          {
            "contract": "{"state_axes":[{"name":"j1","unit":"rad"}],"x":1e400}",
            "created_at": "2026-01-02T03:04:08.000Z",
            "id": "rob_01jgjy",
            "labels": "{"line":"a\\u0000b","":"é"}",
            "name": "Arm '2' 🤖",
            "region": "us-east",
            "robot_type_id": "custom/"arm"",
            "site": "lab",
            "updated_at": "2026-01-04T00:00:00.000Z",
          },
        ]
      `);
      const [key] = await store.reader.selectFrom("api_keys").selectAll().where("label", "like", "arm%").execute();
      expect(structuredClone(key)).toMatchInlineSnapshot(`
        {
          "created_at": "2026-01-02T03:04:06.000Z",
          "created_by": null,
          "expires_at": "2027-01-01T00:00:00.000Z",
          "id": "key_01jgjy",
          "key_last4": "0000",
          "key_prefix": "sk_robot_",
          "key_sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
          "label": "arm "7" ü",
          "last_used_at": "2026-01-03T00:00:00.000Z",
          "max_robots": null,
          "organization_id": "org_01jgjx",
          "parent_id": null,
          "revoked_at": "2026-02-01T00:00:00.000Z",
          "robots": null,
          "scopes": "["robots:setup"]",
        }
      `);
    });

    it("a session of before the console stays a command line's, that may do everything", async () => {
      const location = await locate();
      await execute(location, await goldenOf("0002-fleets"));
      await using store = await openStore(location, testMachine);
      const session = await store.reader.selectFrom("sessions").selectAll().executeTakeFirst();
      expect(session).toMatchObject({ id: "ses_01jgjx", created_by: "key_01jgjx", kind: "cli", scopes: null });
    });

    it("refuses a store that a newer program wrote, says so, and leaves it alone", async () => {
      const location = await locate();
      await (await openStore(location, testMachine))[Symbol.asyncDispose]();
      await execute(location, "insert into kysely_migration values ('9999-later', '2030')");
      const error: unknown = await openStore(location, testMachine).catch((reason: unknown) => reason);
      expect(storeProblem(error, location)).toMatchObject({
        code: "store-is-newer",
        what: "The store cannot be used: a newer robot-policy-service wrote it (schema 9999-later).",
      });
    });

    it("programs that start at the same time on an old store take each step once", async () => {
      const location = await locate();
      await execute(location, await goldenOf("0001-robots"));
      const code = `
        const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, "../../../src/service/store/store.ts"))});
        const { testMachine } = await import(${JSON.stringify(join(import.meta.dirname, "../../support/machine.ts"))});
        const store = await openStore(${JSON.stringify(location)}, testMachine);
        await store[Symbol.asyncDispose]();`;
      const programs = Array.from({ length: 4 }, async () => {
        const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
          stdio: ["ignore", "ignore", "pipe"],
        });
        let output = "";
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          output += text;
        });
        await once(child, "close");
        return output;
      });
      expect(await Promise.all(programs)).toEqual(["", "", "", ""]);
      await using store = await openStore(location, testMachine);
      expect(await stepsOf(store)).toEqual(STEPS);
      expect(await count(store, "robots")).toBe(2);
    });

    it("a step that fails leaves the store as it was", async () => {
      const location = await locate();
      await execute(location, await goldenOf("0001-robots"));
      // In the way of the last table of the next step.
      await execute(location, "create table audit_log (id text)");
      await expect(openStore(location, testMachine)).rejects.toThrow(/audit_log/);
      await execute(location, "drop table audit_log");
      await using store = await openStore(location, testMachine);
      expect(await stepsOf(store)).toEqual(STEPS);
    });
  });
}

describe("migrations", () => {
  it("have a store of every earlier schema to be tested with", async () => {
    expect((await readdir(GOLDEN)).toSorted()).toEqual(
      EARLIER.flatMap((step) => [`${step}.postgres.sql`, `${step}.sqlite.sql`]),
    );
  });

  it.each(EARLIER)("%s makes what it made when it was released", async (step) => {
    const golden = new DatabaseSync(":memory:");
    golden.exec(await readFile(join(GOLDEN, `${step}.sqlite.sql`), "utf8"));
    const made = new DatabaseSync(":memory:");
    const database = new Kysely<Tables>({ dialect: new NodeSqliteDialect(made) });
    await database.transaction().execute((transaction) => migrateWithin(transaction, "2026", step));
    const schemaOf = (each: DatabaseSync) =>
      each.prepare("select name, sql from sqlite_schema where name != 'kysely_migration' order by name").all();
    expect(schemaOf(made)).toEqual(schemaOf(golden));
    await database.destroy();
    golden.close();
  });
});
