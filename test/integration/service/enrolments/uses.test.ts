import type { Kysely } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";

import { systemRandom } from "../../../../src/platform/random.ts";
import { giveBackUses, takeUse } from "../../../../src/service/enrolments/enrolments.ts";
import { selectKeys } from "../../../../src/service/kernel/auth/key-queries.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { openPatiently } from "../../../../src/service/kernel/store/postgres/store.ts";
import type { Tables } from "../../../../src/service/kernel/store/tables.ts";
import { insertKey } from "../../../../src/service/keys/queries.ts";
import { makeKey } from "../../../../src/service/keys/rules.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { sharedPostgres, WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { usePostgres } from "../../../support/service/stores.ts";

const NOW = "2026-06-01T12:00:00.000Z";

describe.skipIf(WITHOUT_POSTGRES)("uses of an enrollment key, across replicas", { tags: "needs/postgres" }, () => {
  const { withSchema } = usePostgres();

  /** Two replicas, and an enrollment key with `uses` uses. */
  async function scene(uses: number) {
    const location = await withSchema();
    const store = await openStore(location, testMachine);
    onTestFinished(store[Symbol.asyncDispose]);
    // Without wait limits, which a busy machine exceeds.
    const open = () => openPatiently(location.url);
    const replicas = [open(), open()] as const;
    for (const replica of replicas) onTestFinished(() => replica.destroy());
    await store.write(async (transaction) => {
      await transaction.insertInto("organizations").values({ id: "org_1", name: "o", created_at: NOW }).execute();
      const enrolment = { uses, site: null, region: null, labels: "{}" };
      const wish = {
        organization_id: "org_1",
        label: "l",
        scopes: ["robots:enroll"],
        expires_at: NOW,
        enrolment,
      } as const;
      await insertKey(transaction, makeKey(wish, "key_1", NOW, systemRandom).row);
    });
    const watcher = await (await sharedPostgres()).connect(location.url);
    onTestFinished(() => watcher.end());
    const blocked = "select count(*)::int as count from pg_locks where not granted";
    return {
      store,
      replicas,
      remaining: async () => (await selectKeys(store.reader, "org_1").executeTakeFirst())?.uses_remaining,
      untilBlocked: () =>
        expect
          .poll(async () => (await watcher.query<{ count: number }>(blocked)).rows[0]?.count, { timeout: PATIENCE_MS })
          .toBeGreaterThan(0),
    };
  }

  /** Takes a use in a transaction that stays open until `end` is called; without a use, `taken` is false. */
  function takeOpenly(replica: Kysely<Tables>) {
    const taken = Promise.withResolvers<boolean>();
    const end = Promise.withResolvers<void>();
    onTestFinished(() => end.resolve());
    const written = replica.transaction().execute(async (transaction) => {
      taken.resolve(await takeUse(transaction, "key_1"));
      await end.promise;
    });
    return { taken: taken.promise, end: end.resolve, fail: end.reject, written };
  }

  it("two taken concurrently → neither waits for the other", async () => {
    const { replicas, remaining } = await scene(5);
    const takes = replicas.map(takeOpenly);
    expect(await Promise.all(takes.map(({ taken }) => taken))).toEqual([true, true]);
    for (const { end } of takes) end();
    await Promise.all(takes.map(({ written }) => written));
    expect(await remaining()).toBe(3);
  });

  it.each([
    ["rolls back → the waiting transaction gets it", "fail", true],
    ["commits → the waiting transaction gets none", "end", false],
  ] as const)("the last one, whose transaction %s", async (_what, how, isLeft) => {
    const { replicas, remaining, untilBlocked } = await scene(1);
    const first = takeOpenly(replicas[0]);
    expect(await first.taken).toBe(true);
    const second = takeOpenly(replicas[1]);
    const failed = first.written.catch(() => {});
    await Promise.race([untilBlocked(), second.taken]);
    first[how]();
    await failed;
    expect(await second.taken).toBe(isLeft);
    second.end();
    await second.written;
    expect(await remaining()).toBe(0);
  });

  it("all uses taken, some given back → they can be taken again, also while another transaction takes one", async () => {
    const { store, replicas, remaining } = await scene(35);
    const takeAll = () =>
      store.write(async (transaction) => {
        for (let count = 0; ; count += 1) if (!(await takeUse(transaction, "key_1"))) return count;
      });
    expect(await takeAll()).toBe(35);
    await store.write((transaction) => giveBackUses(transaction, [{ key_id: "key_1" }, { key_id: null }]));
    const take = takeOpenly(replicas[0]);
    expect(await take.taken).toBe(true);
    await store.write((transaction) => giveBackUses(transaction, [{ key_id: "key_1" }, { key_id: "key_1" }]));
    take.end();
    await take.written;
    expect(await remaining()).toBe(2);
  });
});
