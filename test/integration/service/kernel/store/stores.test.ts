import { sql } from "kysely";
import { expect, it } from "vitest";

import { openStore } from "../../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../../src/service/kernel/store/store.ts";
import { StoreBusyError } from "../../../../../src/service/kernel/store/unavailable.ts";
import { BATCH_MAXIMUM } from "../../../../../src/service/kernel/store/sqlite/writer.ts";
import { testMachine } from "../../../../support/robot/machine.ts";
import { describeOnEachStore } from "../../../../support/service/stores.ts";

function add(store: Store, id: string, name = id): Promise<unknown> {
  return store.write((transaction) =>
    transaction.insertInto("organizations").values({ id, name, created_at: "2026" }).execute(),
  );
}

async function idsIn(store: Store): Promise<string[]> {
  const rows = await store.reader.selectFrom("organizations").select("id").orderBy("id").execute();
  return rows.map(({ id }) => id);
}

describeOnEachStore("openStore", (newStore, newPlace) => {
  const open = async () => openStore(await newStore(), testMachine);

  it("several stores opened concurrently on an empty location → one schema, and each works", async () => {
    const location = await newPlace();
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(location, testMachine)));
    await Promise.all(stores.map((store, index) => add(store, `org_${index}`)));
    expect(await Promise.all(stores.map((store) => idsIn(store)))).toEqual(
      stores.map(() => ["org_0", "org_1", "org_2", "org_3"]),
    );
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  });

  it("any text, including U+0000 → stored unchanged", async () => {
    await using store = await open();
    const names = ["\u0000", "a\u0000b\u{10FFFF}", "\u{10FFFF}0", "ä\u0301\u{1F600}\u200F", "\\x00", "''\"`$1?"];
    await Promise.all(names.map((name, index) => add(store, `org_${index}`, name)));
    const rows = await store.reader.selectFrom("organizations").select("name").orderBy("id").execute();
    expect(rows.map(({ name }) => name)).toEqual(names);
    const found = store.reader.selectFrom("organizations").select("id").where("name", "=", "\u0000");
    expect(await found.executeTakeFirst()).toEqual({ id: "org_0" });
  });

  it("text → sorted by its bytes", async () => {
    await using store = await open();
    const ids = ["B", "a", "A-", "A", "a1", "Z", "_", "ä", "b", "aA", "\u{1F600}", "\uFFEE"];
    await Promise.all(ids.map((id) => add(store, id)));
    expect(await idsIn(store)).toEqual(
      ids.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right))),
    );
  });

  it("counts and sums → numbers", async () => {
    await using store = await open();
    await Promise.all(["a", "b"].map((id) => add(store, id)));
    const counted = await store.reader
      .selectFrom("organizations")
      .select(({ fn }) => [
        fn.countAll<number>().as("count"),
        fn.sum<number>(sql`3000000000`).as("sum"),
        fn.max("id").as("last"),
      ])
      .executeTakeFirstOrThrow();
    expect({ ...counted }).toEqual({ count: 2, sum: 6_000_000_000, last: "b" });
  });

  it("reader → cannot write", async () => {
    await using store = await open();
    const written = store.reader
      .insertInto("organizations")
      .values({ id: "org_1", name: "x", created_at: "2026" })
      .execute();
    await expect(written).rejects.toThrow(/read-?only/);
  });

  it("failing job → leaves nothing, and jobs in the same batch succeed", async () => {
    await using store = await open();
    const failing = store.write(async (transaction) => {
      await transaction.insertInto("organizations").values({ id: "org_2", name: "x", created_at: "2026" }).execute();
      throw new Error("after its insert");
    });
    const duplicates = [add(store, "a"), add(store, "a", "again")];
    const outcomes = await Promise.allSettled([failing, add(store, "b"), ...duplicates]);
    expect(outcomes.slice(0, 2)).toMatchObject([
      { status: "rejected", reason: { message: "after its insert" } },
      { status: "fulfilled" },
    ]);
    // They are concurrent, so either may be first.
    expect(
      outcomes
        .slice(2)
        .map(({ status }) => status)
        .toSorted(),
    ).toEqual(["fulfilled", "rejected"]);
    expect(await idsIn(store)).toEqual(["a", "b"]);
  });

  it("many concurrent updates of one row → none is lost", async () => {
    const location = await newStore();
    await using first = await openStore(location, testMachine);
    await using second = await openStore(location, testMachine);
    await add(first, "org_1", "0");
    const increment = (store: Store) =>
      store.write(async (transaction) => {
        const query = transaction.selectFrom("organizations").select("name").where("id", "=", "org_1").forUpdate();
        const { name } = await query.executeTakeFirstOrThrow();
        const update = transaction.updateTable("organizations").set({ name: String(Number(name) + 1) });
        await update.where("id", "=", "org_1").execute();
      });
    // Each waits for all before it. On a busy machine some exceed the time limit of writes, and are sent again.
    const incremented = async (store: Store): Promise<void> => {
      try {
        await increment(store);
      } catch (error) {
        if (error instanceof StoreBusyError) return incremented(store);
        throw error;
      }
    };
    const writes = Array.from({ length: BATCH_MAXIMUM }, (_, index) => incremented(index % 2 === 0 ? first : second));
    await Promise.all(writes);
    const { name } = await first.reader.selectFrom("organizations").select("name").executeTakeFirstOrThrow();
    expect(name).toBe(String(writes.length));
  });

  it("more writes than may wait → StoreBusyError for some, the others are written", async () => {
    await using store = await open();
    const outcomes = await Promise.allSettled(Array.from({ length: 1100 }, (_, index) => add(store, `org_${index}`)));
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    for (const each of refused) expect(each).toMatchObject({ reason: expect.any(StoreBusyError) });
    expect(await idsIn(store)).toHaveLength(outcomes.length - refused.length);
  });

  it("dispose → pending writes are completed", async () => {
    const location = await newStore();
    const store = await openStore(location, testMachine);
    const writes = ["a", "b", "c"].map((id) => add(store, id));
    await store[Symbol.asyncDispose]();
    await Promise.all(writes);
    await using again = await openStore(location, testMachine);
    expect(await idsIn(again)).toEqual(["a", "b", "c"]);
  });
});
