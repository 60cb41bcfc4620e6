import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { sql } from "kysely";
import { describe, expect, it, type SuiteOptions } from "vitest";

import { MIGRATIONS, type Migrations } from "../../../../../src/service/kernel/store/migrations.ts";
import { migrate } from "../../../../../src/service/kernel/store/migrator.ts";
import { openStore } from "../../../../../src/service/kernel/store/open-store.ts";
import { storeProblem } from "../../../../../src/service/kernel/store/store-problem.ts";
import type { Store, StoreLocation } from "../../../../../src/service/kernel/store/store.ts";
import { testFolder } from "../../../../support/folder.ts";
import { testMachine } from "../../../../support/robot/machine.ts";
import { WITHOUT_POSTGRES } from "../../../../support/service/postgres.ts";
import { usePostgres } from "../../../../support/service/stores.ts";

const INITIAL = Object.keys(MIGRATIONS);

/** The migrations of a later program: a new column, filled from existing data. */
const LATER: Migrations = {
  ...MIGRATIONS,
  "9998-greetings": async (database) => {
    await database.schema.alterTable("organizations").addColumn("greeting", "text").execute();
    await sql`update organizations set greeting = 'Hello ' || name`.execute(database);
  },
};

const BROKEN: Migrations = {
  ...LATER,
  "9999-broken": async (database) => {
    await sql`insert into nowhere values (1)`.execute(database);
  },
};

const openWith = (location: StoreLocation, migrations: Migrations) =>
  openStore(location, testMachine, (database, at) => migrate(database, at, migrations));

async function stepsOf(store: Store): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from migrations order by name`.execute(store.reader);
  return rows.map(({ name }) => name);
}

const databases = usePostgres();

const engines: readonly { name: string; needs: SuiteOptions; locate: () => Promise<StoreLocation> }[] = [
  { name: "SQLite", needs: {}, locate: emptyDirectory },
  { name: "PostgreSQL", needs: { tags: "needs/postgres", skip: WITHOUT_POSTGRES }, locate: databases.empty },
];

async function emptyDirectory(): Promise<StoreLocation> {
  const dataDirectory = testFolder("migrations");
  return { kind: "sqlite", dataDirectory };
}

for (const { name, needs, locate } of engines) {
  describe(`migrations on ${name}`, needs, () => {
    it("later program → migrates without loss; then the earlier program → refuses the store", async () => {
      const location = await locate();
      {
        await using store = await openStore(location, testMachine);
        const organization = { id: "org_1", name: "Łódź 🤖", created_at: "2026" };
        await store.write((transaction) => transaction.insertInto("organizations").values(organization).execute());
      }
      {
        await using store = await openWith(location, LATER);
        expect(await stepsOf(store)).toEqual([...INITIAL, "9998-greetings"]);
        const { rows } = await sql`select id, name, greeting from organizations`.execute(store.reader);
        expect(structuredClone(rows)).toEqual([{ id: "org_1", name: "Łódź 🤖", greeting: "Hello Łódź 🤖" }]);
      }
      const error: unknown = await openStore(location, testMachine).catch((reason: unknown) => reason);
      expect(storeProblem(error, location)).toMatchObject({
        code: "store-is-newer",
        what: "the store cannot be used: a newer robot-policy-service wrote it (schema 9998-greetings)",
      });
    });

    it("programs started concurrently → each step is applied once", async () => {
      const location = await locate();
      const code = `
        const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, "../../../../../src/service/kernel/store/open-store.ts"))});
        const { testMachine } = await import(${JSON.stringify(join(import.meta.dirname, "../../../../support/robot/machine.ts"))});
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
      expect(await stepsOf(store)).toEqual(INITIAL);
    });

    it("failing step → no change, and the steps before it are rolled back", async () => {
      const location = await locate();
      await (await openStore(location, testMachine))[Symbol.asyncDispose]();
      await expect(openWith(location, BROKEN)).rejects.toThrow(/nowhere/);
      await using store = await openStore(location, testMachine);
      expect(await stepsOf(store)).toEqual(INITIAL);
      await expect(sql`select greeting from organizations`.execute(store.reader)).rejects.toThrow(/greeting/);
    });
  });
}
