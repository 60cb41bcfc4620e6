import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";

import * as fc from "fast-check";
import { Kysely, sql } from "kysely";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";

import { openStore } from "../../../../../src/service/kernel/store/open-store.ts";
import { fromPostgresText, toPostgresText } from "../../../../../src/service/kernel/store/postgres/dialect.ts";
import { BATCH_MAXIMUM, createWriter } from "../../../../../src/service/kernel/store/sqlite/writer.ts";
import { nodeSqliteDialect } from "../../../../../src/service/kernel/store/sqlite/dialect.ts";
import { lockDirectory } from "../../../../../src/service/kernel/store/sqlite/database.ts";
import type { Store } from "../../../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../../../src/service/kernel/store/tables.ts";
import { StoreUnavailableError, unavailable } from "../../../../../src/service/kernel/store/unavailable.ts";
import { testFolder } from "../../../../support/folder.ts";
import { testMachine } from "../../../../support/robot/machine.ts";
import { watchedFiles } from "../../../../support/robot/watched-files.ts";

let directory: string;
beforeEach(() => void (directory = testFolder("store")));

const open = () => openStore({ kind: "sqlite", dataDirectory: directory }, testMachine);

function add(store: Store, id: string): Promise<unknown> {
  return store.write((transaction) =>
    transaction.insertInto("organizations").values({ id, name: id, created_at: "2026" }).execute(),
  );
}

async function idsIn(store: Store): Promise<string[]> {
  const rows = await store.reader.selectFrom("organizations").select("id").orderBy("id").execute();
  return rows.map(({ id }) => id);
}

describe("openStore", () => {
  it("new database → its folder is synced before the first write", async () => {
    const steps: string[] = [];
    const machine = { ...testMachine, files: watchedFiles(steps, testMachine.files) };
    await using _store = await openStore({ kind: "sqlite", dataDirectory: directory }, machine);
    expect(steps).toEqual(["create service.db", "sync the folder of service.db"]);
  });

  it("reopened → data kept, files private to the user, migrated once", async () => {
    {
      await using store = await open();
      await add(store, "org_1");
    }
    await using store = await open();
    expect(await idsIn(store)).toEqual(["org_1"]);
    expect((await stat(join(directory, "service.db"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(directory, "service.db-wal"))).mode & 0o777).toBe(0o600);
  });

  it("journal mode and synchronous → durable commits", async () => {
    await using store = await open();
    const [synchronous, journal] = await store.write(async (transaction) => {
      const first = await sql<{ synchronous: number }>`pragma synchronous`.execute(transaction);
      const second = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(transaction);
      return [first.rows[0]?.synchronous, second.rows[0]?.journal_mode];
    });
    expect([synchronous, journal]).toEqual([2, "wal"]);
  });

  it("no database, or a newer schema → refused", async () => {
    await writeFile(join(directory, "service.db"), "this is not a database, but long enough to look at ".repeat(20));
    await expect(open()).rejects.toThrow(/not a database/);
    await rm(join(directory, "service.db"));
    await (await open())[Symbol.asyncDispose]();
    const newer = new DatabaseSync(join(directory, "service.db"));
    newer.exec("insert into migrations values ('9999-later', '2030')");
    newer.close();
    await expect(open()).rejects.toThrow("a newer robot-policy-service wrote it (schema 9999-later)");
  });
});

describe("store.write", () => {
  it("database rolls back a commit because of one write → that write fails with the reason, the others are written", async () => {
    await using store = await open();
    await add(store, "org_1");
    // As SQLite does when the disk fails (sqlite.org/lang_conflict.html).
    const giveUp = store.write((transaction) =>
      sql`insert or rollback into organizations values ('org_1', 'x', '2026')`.execute(transaction),
    );
    const outcomes = await Promise.allSettled([add(store, "a"), giveUp, add(store, "b")]);
    expect(outcomes).toMatchObject([
      { status: "fulfilled" },
      { reason: { message: expect.stringContaining("UNIQUE constraint failed") } },
      { status: "fulfilled" },
    ]);
    expect(await idsIn(store)).toEqual(["a", "b", "org_1"]);
  });

  it("disk full → writes that have no room fail; room again → writes continue", async () => {
    await using store = await open();
    const limitPages = (count: number) =>
      store.write(async (transaction) => {
        await sql.raw(`pragma max_page_count = ${count}`).execute(transaction);
      });
    await limitPages(1);
    const big = "x".repeat(1000);
    const writes = Array.from({ length: 100 }, (_, index) => add(store, `${index}${big}`));
    const outcomes = await Promise.allSettled(writes);
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ reason }) => reason instanceof StoreUnavailableError)).toBe(true);
    expect(await idsIn(store)).toHaveLength(outcomes.length - refused.length);
    await limitPages(1_000_000);
    await add(store, "later");
    expect(await idsIn(store)).toContain("later");
  });

  it("row locks → omitted, because a write transaction locks the entire database", async () => {
    await using store = await open();
    await add(store, "org_1");
    const locked = store.write((transaction) =>
      transaction.selectFrom("organizations").select("id").forUpdate().skipLocked().execute(),
    );
    expect(await locked).toHaveLength(1);
  });

  it("LIMIT → a literal in the SQL text, so that SQLite plans the query once", async () => {
    await using store = await open();
    await add(store, "org_1");
    await add(store, "org_2");
    const query = store.reader.selectFrom("organizations").select("id").orderBy("id").limit(1);
    expect(query.compile()).toMatchObject({ sql: expect.stringMatching(/ limit 1$/), parameters: [] });
    expect(await query.execute()).toEqual([{ id: "org_1" }]);
  });
});

describe("a lock that another process holds", () => {
  /** The system clock with instant sleeps; `onSleep` gets the total time slept. */
  function clockThatSleeps(onSleep: (sleptMs: number) => void) {
    let sleptMs = 0;
    return {
      ...testMachine.clock,
      monotonicMs: () => sleptMs,
      async sleep(durationMs: number) {
        sleptMs += durationMs;
        onSleep(sleptMs);
      },
    };
  }

  it("waits without blocking the thread: reads continue, the write happens when the lock is free", async () => {
    await (await open())[Symbol.asyncDispose]();
    const other = new DatabaseSync(join(directory, "service.db"));
    const clock = clockThatSleeps((sleptMs) => {
      if (sleptMs > 1000 && other.isTransaction) other.exec("rollback");
    });
    await using store = await openStore({ kind: "sqlite", dataDirectory: directory }, { ...testMachine, clock });
    other.exec("begin immediate");
    const written = add(store, "org_1");
    expect(await idsIn(store)).toEqual([]);
    await written;
    expect(await idsIn(store)).toEqual(["org_1"]);
    other.close();
  });

  it("gives up after five seconds, once for all writes of the commit", async () => {
    await (await open())[Symbol.asyncDispose]();
    let sleptMs = 0;
    const clock = clockThatSleeps((allMs) => void (sleptMs = allMs));
    await using store = await openStore({ kind: "sqlite", dataDirectory: directory }, { ...testMachine, clock });
    const other = new DatabaseSync(join(directory, "service.db"));
    other.exec("begin immediate");
    const outcomes = await Promise.allSettled([add(store, "a"), add(store, "b")]);
    expect(outcomes).toMatchObject([
      { status: "rejected", reason: expect.any(StoreUnavailableError) },
      { status: "rejected", reason: expect.any(StoreUnavailableError) },
    ]);
    expect(sleptMs).toBeGreaterThanOrEqual(5000);
    expect(sleptMs).toBeLessThan(5100);
    other.exec("rollback");
    await add(store, "c");
    expect(await idsIn(store)).toEqual(["c"]);
    other.close();
  });
});

class CountingDatabase extends DatabaseSync {
  commits = 0;

  override exec(text: string): void {
    if (text === "commit") this.commits += 1;
    super.exec(text);
  }
}

describe("createWriter", () => {
  /** A writer on an empty database, by a clock that tests move. */
  function scene() {
    const database = new CountingDatabase(":memory:");
    const kysely = new Kysely<Tables>({ dialect: nodeSqliteDialect(database) });
    onTestFinished(() => kysely.destroy());
    const time = { nowMs: 0 };
    const writer = createWriter(kysely, { monotonicMs: () => time.nowMs });
    return { database, kysely, time, write: writer.write, idle: writer.idle };
  }

  it("writes in consecutive turns → one commit; writes after a pause → another", async () => {
    const { database, write, idle } = scene();
    for (let turn = 0; turn < 3; turn += 1) {
      void write(() => Promise.resolve());
      await setImmediate();
    }
    await idle();
    expect(database.commits).toBe(1);
    await write(() => Promise.resolve());
    expect(database.commits).toBe(2);
  });

  it("continuous writes → the commit does not wait forever", async () => {
    const { database, write, idle } = scene();
    for (let turn = 0; turn < 100; turn += 1) {
      void write(() => Promise.resolve());
      await setImmediate();
    }
    await idle();
    expect(database.commits).toBeGreaterThan(5);
  });

  it("work after a commit → other work runs in between", async () => {
    const { time, write } = scene();
    const seen: string[] = [];
    const answers = ["first", "second", "third", "fourth"].map(async (name) => {
      await write(() => Promise.resolve());
      seen.push(name);
      time.nowMs += 6;
      if (name === "first") void setImmediate().then(() => seen.push("others"));
    });
    await Promise.all(answers);
    expect(seen.indexOf("others")).toBeLessThan(3);
  });

  it("long commit → other work runs between its writes", async () => {
    const { time, write } = scene();
    const seen: string[] = [];
    const writes = ["first", "second", "third"].map((name) =>
      write(async () => {
        seen.push(name);
        time.nowMs += 3;
        if (name === "first") void setImmediate().then(() => seen.push("others"));
      }),
    );
    await Promise.all(writes);
    expect(seen).toEqual(["first", "second", "others", "third"]);
  });

  it("writes arriving during a commit → join it, in their order", async () => {
    const { database, write } = scene();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const run: string[] = [];
    const begin = (name: string) =>
      write(async () => {
        run.push(name);
        await arrived;
      });
    const writes = ["a1", "a2", "a3", "a4"].map(begin);
    await expect.poll(() => run).toEqual(["a1"]);
    writes.push(...["b1", "c1", "b2"].map(begin));
    arrive();
    await Promise.all(writes);
    expect(run).toEqual(["a1", "a2", "a3", "a4", "b1", "c1", "b2"]);
    expect(database.commits).toBe(1);
  });

  it("waiting writes → one commit, up to its limit", async () => {
    const { database, write } = scene();
    await Promise.all(Array.from({ length: BATCH_MAXIMUM + 1 }, () => write(() => Promise.resolve())));
    expect(database.commits).toBe(2);
  });

  it("some writes fail → the others share one commit, and run no more often than there are failures", async () => {
    const { database, write } = scene();
    const run: string[] = [];
    const writes = ["a", "fails", "b", "fails too", "c"].map((name) =>
      write(async () => {
        run.push(name);
        if (name.startsWith("fails")) throw new Error(name);
        return name;
      }),
    );
    expect(await Promise.allSettled(writes)).toMatchObject([
      { value: "a" },
      { reason: { message: "fails" } },
      { value: "b" },
      { reason: { message: "fails too" } },
      { value: "c" },
    ]);
    expect(run.join()).toBe("a,fails,a,b,fails too,a,b,c");
    expect(database.commits).toBe(1);
  });
});

describe("lockDirectory", () => {
  it("held once; free after release", () => {
    const lock = lockDirectory(directory);
    expect(lock).not.toBeNull();
    expect(lockDirectory(directory)).toBeNull();
    lock?.[Symbol.dispose]();
    const again = lockDirectory(directory);
    expect(again).not.toBeNull();
    again?.[Symbol.dispose]();
  });

  it("its file → private to the user: a reader of it could hold the lock", async () => {
    using _lock = lockDirectory(directory);
    expect((await stat(join(directory, "service.lock"))).mode & 0o777).toBe(0o600);
  });
});

describe("unavailable", () => {
  it.each<[string, number, boolean]>([
    ["FULL", 13, true],
    ["IOERR_WRITE", 778, true],
    ["ERROR: an invalid query", 1, false],
    ["CONSTRAINT", 19, false],
  ])("SQLite's %s", (_name, errcode, expected) => {
    const error = Object.assign(new Error("x"), { code: "ERR_SQLITE_ERROR", errcode });
    expect(unavailable(error) instanceof StoreUnavailableError).toBe(expected);
  });

  it.each<[string, string, boolean]>([
    ["disk full", "53100", true],
    ["too many connections", "53300", true],
    ["statement timeout", "57014", true],
    ["shutdown", "57P01", true],
    ["connection failure", "08006", true],
    ["standby", "25006", true],
    ["serialization failure", "40001", true],
    ["lock timeout", "55P03", true],
    ["unique violation", "23505", false],
    ["syntax error", "42601", false],
    ["an unsupported character", "22021", false],
  ])("PostgreSQL's %s", (_name, code, expected) => {
    const error = Object.assign(new Error("x"), { severity: "ERROR", code });
    expect(unavailable(error) instanceof StoreUnavailableError).toBe(expected);
  });

  it("bugs → unchanged", () => {
    expect(unavailable(new TypeError("bug"))).toBeInstanceOf(TypeError);
    expect(unavailable(Object.assign(new Error("x"), { code: "53100" }))).not.toBeInstanceOf(StoreUnavailableError);
  });
});

describe("toPostgresText", () => {
  it("text with U+0000 → text without it, reversed by fromPostgresText", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("\u0000", "\u{10FFFF}", "0", "1", "é", "😀") }), (text) => {
        expect(toPostgresText(text)).not.toContain("\u0000");
        expect(fromPostgresText(toPostgresText(text))).toBe(text);
      }),
    );
  });
});
