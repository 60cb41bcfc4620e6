import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { Kysely, sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { systemFiles } from "../../../src/platform/files.ts";
import { lockDirectory } from "../../../src/service/store/instance-lock.ts";
import { listRobots, upsertRobot } from "../../../src/service/store/robots.ts";
import { openStore } from "../../../src/service/store/store.ts";
import type { Store } from "../../../src/service/store/store.ts";
import { StoreUnavailableError, unavailable } from "../../../src/service/store/unavailable.ts";
import { BATCH_MAXIMUM, createWriter, PENDING_WRITES_MAXIMUM } from "../../../src/service/store/writer.ts";
import { migrate } from "../../../src/service/store/migrations.ts";
import { NodeSqliteDialect } from "../../../src/service/store/sqlite-dialect.ts";
import type { Tables } from "../../../src/service/store/tables.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "store-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const DIGEST = `sha256:${"0".repeat(64)}`;

async function addOrganization(store: Store, id: string): Promise<void> {
  await store.write((transaction) =>
    transaction.insertInto("organizations").values({ id, name: id, created_at: "2026" }).execute(),
  );
}

function register(store: Store, organization_id: string, name: string, id = `rob_${name}`) {
  const setup = { name, robot_type_id: "t", region: "x", configuration_digest: DIGEST };
  return store.write((transaction) => upsertRobot(transaction, organization_id, setup, { id, now: "2026" }));
}

describe("openStore", () => {
  it("keeps what was written, for its user alone, and migrates once", async () => {
    {
      await using store = await openStore(systemFiles, directory);
      await addOrganization(store, "org_1");
      await register(store, "org_1", "r1");
    }
    await using store = await openStore(systemFiles, directory);
    expect((await listRobots(store.reader, "org_1")).map(({ name }) => name)).toEqual(["r1"]);
    expect((await stat(join(directory, "service.db"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(directory, "service.db-wal"))).mode & 0o777).toBe(0o600);
  });

  it("commits to the disk itself: journal and synchronous are what durability needs", async () => {
    await using store = await openStore(systemFiles, directory);
    const [synchronous, journal] = await store.write(async (transaction) => {
      const first = await sql<{ synchronous: number }>`pragma synchronous`.execute(transaction);
      const second = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(transaction);
      return [first.rows[0]?.synchronous, second.rows[0]?.journal_mode];
    });
    expect([synchronous, journal]).toEqual([2, "wal"]);
  });

  it("refuses a file that is no database, and one a newer program wrote", async () => {
    await writeFile(join(directory, "service.db"), "this is not a database, but long enough to look at ".repeat(20));
    await expect(openStore(systemFiles, directory)).rejects.toThrow(/not a database/);
    await rm(join(directory, "service.db"));
    await (await openStore(systemFiles, directory))[Symbol.asyncDispose]();
    const newer = new DatabaseSync(join(directory, "service.db"));
    newer.exec("insert into kysely_migration values ('9999-later', '2030')");
    newer.close();
    await expect(openStore(systemFiles, directory)).rejects.toThrow("Cannot bring the schema up to date");
  });
});

describe("store.write", () => {
  it("resolves only when a second connection sees the row", async () => {
    await using store = await openStore(systemFiles, directory);
    await addOrganization(store, "org_1");
    await register(store, "org_1", "r1");
    const other = new DatabaseSync(join(directory, "service.db"), { readOnly: true });
    expect(other.prepare("select count(*) as count from robots").get()?.["count"]).toBe(1);
    other.close();
  });

  it("a job that fails takes no other along and leaves nothing behind", async () => {
    await using store = await openStore(systemFiles, directory);
    await addOrganization(store, "org_1");
    const failing = store.write(async (transaction) => {
      await transaction.insertInto("organizations").values({ id: "org_2", name: "x", created_at: "2026" }).execute();
      throw new Error("after its insert");
    });
    const outcomes = await Promise.allSettled([register(store, "org_1", "a"), failing, register(store, "org_1", "b")]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await store.reader.selectFrom("organizations").select("id").execute()).toEqual([{ id: "org_1" }]);
    expect((await listRobots(store.reader, "org_1")).map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("where the database gives up the whole commit, every write of it fails, with the reason, and the next works", async () => {
    await using store = await openStore(systemFiles, directory);
    await addOrganization(store, "org_1");
    // As SQLite does on its own when the disk fails in the middle (sqlite.org/lang_conflict.html).
    const giveUp = store.write((transaction) =>
      sql`insert or rollback into organizations values ('org_1', 'x', '2026')`.execute(transaction),
    );
    const outcomes = await Promise.allSettled([register(store, "org_1", "a"), giveUp, register(store, "org_1", "b")]);
    const reasons = outcomes.map((outcome) => (outcome.status === "rejected" ? String(outcome.reason) : "done"));
    expect(reasons).toEqual(Array.from({ length: 3 }, () => expect.stringContaining("UNIQUE constraint failed")));
    await register(store, "org_1", "c");
    expect((await listRobots(store.reader, "org_1")).map(({ name }) => name)).toEqual(["c"]);
  });

  it("refuses beyond its bound, and says so", async () => {
    await using store = await openStore(systemFiles, directory);
    await addOrganization(store, "org_1");
    const writes = Array.from({ length: PENDING_WRITES_MAXIMUM + 5 }, (_, index) =>
      register(store, "org_1", `r${index}`),
    );
    const refused = (await Promise.allSettled(writes)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(5);
    expect(refused[0]).toMatchObject({ reason: expect.any(StoreUnavailableError) });
    expect(await listRobots(store.reader, "org_1")).toHaveLength(PENDING_WRITES_MAXIMUM);
  });

  it("a full disk refuses every write of the commit, and writes go on when there is room", async () => {
    await using store = await openStore(systemFiles, directory);
    await addOrganization(store, "org_1");
    const limitPages = (count: number) =>
      store.write(async (transaction) => {
        await sql.raw(`pragma max_page_count = ${count}`).execute(transaction);
      });
    await limitPages(1);
    const big = "x".repeat(1000);
    const writes = Array.from({ length: 100 }, (_, index) => register(store, "org_1", `${index}${big}`));
    const outcomes = await Promise.allSettled(writes);
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ reason }) => reason instanceof StoreUnavailableError)).toBe(true);
    const kept = await listRobots(store.reader, "org_1");
    expect(kept).toHaveLength(outcomes.length - refused.length);
    await limitPages(1_000_000);
    await register(store, "org_1", "later");
    expect((await listRobots(store.reader, "org_1")).map(({ name }) => name)).toContain("later");
  });
});

describe("createWriter", () => {
  it("takes writes that wait into one commit, and no more than its bound", async () => {
    let commits = 0;
    class CountingDatabase extends DatabaseSync {
      override exec(text: string): void {
        if (text === "commit") commits += 1;
        super.exec(text);
      }
    }
    const database = new Kysely<Tables>({ dialect: new NodeSqliteDialect(new CountingDatabase(":memory:")) });
    await migrate(database);
    commits = 0;
    const writer = createWriter(database);
    const insert = (id: string) =>
      writer.write((transaction) =>
        transaction.insertInto("organizations").values({ id, name: id, created_at: "2026" }).execute(),
      );
    await Promise.all(Array.from({ length: BATCH_MAXIMUM + 1 }, (_, index) => insert(`org_${index}`)));
    expect(commits).toBe(2);
    await database.destroy();
  });
});

describe("upsertRobot", () => {
  it("replaces everything but id and created_at", async () => {
    await using store = await openStore(systemFiles, directory);
    await addOrganization(store, "org_1");
    const full = { site: "lab", labels: { k: "v" }, contract: { a: 1 } };
    const setup = { name: "r1", robot_type_id: "t", region: "x", configuration_digest: DIGEST };
    await store.write((transaction) =>
      upsertRobot(transaction, "org_1", { ...setup, ...full }, { id: "rob_1", now: "2026" }),
    );
    const replaced = await store.write((transaction) =>
      upsertRobot(transaction, "org_1", { ...setup, region: "y" }, { id: "rob_2", now: "2027" }),
    );
    expect({ ...replaced }).toEqual({
      id: "rob_1",
      name: "r1",
      robot_type_id: "t",
      region: "y",
      created_at: "2026",
      site: null,
      labels: "{}",
    });
    expect(await store.reader.selectFrom("robots").select(["contract", "updated_at"]).execute()).toEqual([
      { contract: null, updated_at: "2027" },
    ]);
  });

  it("a name belongs to its organization", async () => {
    await using store = await openStore(systemFiles, directory);
    await addOrganization(store, "org_1");
    await addOrganization(store, "org_2");
    await register(store, "org_1", "r", "rob_1");
    await register(store, "org_2", "r", "rob_2");
    expect((await listRobots(store.reader, "org_1")).map(({ id }) => id)).toEqual(["rob_1"]);
    expect((await listRobots(store.reader, "org_2")).map(({ id }) => id)).toEqual(["rob_2"]);
  });
});

describe("lockDirectory", () => {
  it("is held once, and free again after", () => {
    const lock = lockDirectory(directory);
    expect(lock).not.toBeNull();
    expect(lockDirectory(directory)).toBeNull();
    lock?.[Symbol.dispose]();
    const again = lockDirectory(directory);
    expect(again).not.toBeNull();
    again?.[Symbol.dispose]();
  });
});

describe("unavailable", () => {
  it("tells failures of the machine from bugs", () => {
    const sqlite = (errcode: number) => Object.assign(new Error("x"), { code: "ERR_SQLITE_ERROR", errcode });
    // 13 FULL, 778 IOERR_WRITE; 1 ERROR (a wrong query), 19 CONSTRAINT.
    expect([13, 778].map((code) => unavailable(sqlite(code)) instanceof StoreUnavailableError)).toEqual([true, true]);
    expect([1, 19].map((code) => unavailable(sqlite(code)) instanceof StoreUnavailableError)).toEqual([false, false]);
    expect(unavailable(new TypeError("bug"))).toBeInstanceOf(TypeError);
  });
});
