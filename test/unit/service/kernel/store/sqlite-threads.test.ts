import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { Kysely, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { WAITING_MAXIMUM } from "../../../../../src/service/kernel/store/connection-queue.ts";
import { openStore } from "../../../../../src/service/kernel/store/open-store.ts";
import { readSnapshot, type Store } from "../../../../../src/service/kernel/store/store.ts";
import { sqliteThreadsDialect } from "../../../../../src/service/kernel/store/sqlite/threads.ts";
import type { Tables } from "../../../../../src/service/kernel/store/tables.ts";
import {
  StoreBusyError,
  StoreUnavailableError,
  unavailable,
} from "../../../../../src/service/kernel/store/unavailable.ts";
import { memoryFolder } from "../../../../support/memory.ts";
import { testMachine } from "../../../../support/robot/machine.ts";
import { PATIENCE_MS } from "../../../../support/run/patience.ts";

const THREADS = 2;

let directory: string;
let store: Store;
beforeAll(async () => {
  directory = await mkdtemp(join(memoryFolder, "threads-"));
  store = await openStore({ kind: "sqlite", dataDirectory: directory, readerThreads: THREADS }, testMachine);
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

function add(id: string, name = id): Promise<unknown> {
  return store.write((transaction) =>
    transaction.insertInto("organizations").values({ id, name, created_at: "2026" }).execute(),
  );
}

/** Counts to `rows`, which takes SQLite about 0.3 s per million. */
const countTo = (rows: number) =>
  sql<{ last: number }>`
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${rows}) select max(n) as last from numbers
  `.execute(store.reader);

const nameOf = async (id: string) =>
  (await store.reader.selectFrom("organizations").select("name").where("id", "=", id).executeTakeFirst())?.name;

describe("a store with threads for queries", () => {
  it("query on any thread → sees every acknowledged write", async () => {
    for (let round = 0; round < 20; round += 1) {
      await add(`seen_${round}`);
      const names = Array.from({ length: THREADS + 1 }, () => nameOf(`seen_${round}`));
      expect(await Promise.all(names)).toEqual(Array.from({ length: THREADS + 1 }, () => `seen_${round}`));
    }
  });

  it("values → unchanged: text with U+0000, numbers, bytes, null", async () => {
    const values = ["a\u0000b\u{10FFFF}", 3_000_000_000, -0.5, new Uint8Array([0, 255]), null];
    const [text, whole, part, bytes, nothing] = values.map((value) => sql`${value}`);
    const { rows } =
      await sql`select ${text} as a, ${whole} as b, ${part} as c, ${bytes} as d, ${nothing} as e`.execute(store.reader);
    expect(rows).toEqual([{ a: values[0], b: values[1], c: values[2], d: values[3], e: null }]);
  });

  it("long queries in all threads → lookups and writes do not wait", async () => {
    using held = new DatabaseSync(join(directory, "held.db"));
    held.exec("begin exclusive");
    const finished: string[] = [];
    const begun = Array.from({ length: THREADS }, () => Promise.withResolvers<void>());
    const waitForLock = ({ resolve }: PromiseWithResolvers<void>) =>
      store.reader.connection().execute(async (connection) => {
        resolve();
        await sql`attach ${held.location()} as held`.execute(connection);
        finished.push("long query");
        await sql`detach held`.execute(connection);
      });
    const long = Promise.allSettled(begun.map(waitForLock));
    await Promise.all(begun.map(({ promise }) => promise));
    await add("meanwhile");
    finished.push("write");
    await store.lookup.selectFrom("organizations").select("id").where("id", "=", "meanwhile").execute();
    finished.push("lookup");
    held.exec("rollback");
    await long;
    expect(finished).toEqual(["write", "lookup", "long query", "long query"]);
  });

  it("queries of one snapshot → consistent despite later writes", async () => {
    await add("snapshot", "before");
    const names = await readSnapshot(store.reader, async (snapshot) => {
      const find = () =>
        snapshot.selectFrom("organizations").select("name").where("id", "=", "snapshot").executeTakeFirst();
      const first = await find();
      await store.write((transaction) =>
        transaction.updateTable("organizations").set({ name: "after" }).where("id", "=", "snapshot").execute(),
      );
      return [first?.name, (await find())?.name];
    });
    expect([names, await nameOf("snapshot")]).toEqual([["before", "before"], "after"]);
  });

  it("error → with its code, the thread continues", async () => {
    const failed = await sql`insert into organizations values ('x', 'x', '2026')`
      .execute(store.reader)
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "ERR_SQLITE_ERROR", errcode: 8 });
    expect(unavailable(failed)).toBeInstanceOf(StoreUnavailableError);
    expect((await countTo(1)).rows).toEqual([{ last: 1 }]);
  });

  it("parameter that cannot be cloned → refused", async () => {
    await expect(sql`select ${sql.val(Symbol("x"))}`.execute(store.reader)).rejects.toThrow(/could not be cloned/);
    expect((await countTo(1)).rows).toEqual([{ last: 1 }]);
  });

  it("more queries than may wait → refused", async () => {
    const flood = Array.from({ length: THREADS + WAITING_MAXIMUM + 3 }, () => countTo(1));
    const refused = (await Promise.allSettled(flood)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(3);
    expect(refused[0]).toMatchObject({ reason: new StoreUnavailableError("Too many queries wait") });
  });

  it("query exceeds its time → it and the one behind it fail, the next gets a new thread", async () => {
    const path = join(directory, "slow.db");
    using other = new DatabaseSync(path);
    other.exec("create table t (n); begin exclusive");
    await using reader = new Kysely<Tables>({ dialect: sqliteThreadsDialect(path, 1, 400) });
    const count = () => sql`select count(*) as rows from t`.execute(reader);
    const outcomes = await Promise.allSettled([count(), count()]);
    expect(outcomes).toMatchObject([
      { reason: new StoreUnavailableError("A query took longer than 400 ms") },
      { reason: new StoreBusyError("No connection to the database was free within 400 ms") },
    ]);
    // Only the waiting query counts as a limit that the requester met.
    expect(
      outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason instanceof StoreBusyError),
    ).toEqual([false, true]);
    other.exec("rollback");
    await expect.poll(() => count().catch(() => null), { timeout: PATIENCE_MS }).toMatchObject({ rows: [{ rows: 0 }] });
  });

  it("thread ends → its query fails, the next gets a new thread", async () => {
    const path = join(directory, "later.db");
    const dialect = sqliteThreadsDialect(path, 1);
    await using reader = new Kysely<Tables>({ dialect });
    // A thread without a database ends at once.
    const early = sql`select 1 as one`.execute(reader);
    await expect(early).rejects.toThrow(StoreUnavailableError);
    await expect(early).rejects.toThrow("unable to open database file");
    new DatabaseSync(path).close();
    expect((await sql`select 1 as one`.execute(reader)).rows).toEqual([{ one: 1 }]);
  });
});
