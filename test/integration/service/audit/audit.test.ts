import { sql } from "kysely";
import { expect, it, onTestFinished } from "vitest";

import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { readAudit } from "../../../../src/service/audit/queries.ts";
import { createAuditPruning, NEWEST_KEPT } from "../../../../src/service/audit/tasks.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { audit } from "../../../../src/service/kernel/store/audit.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import { testFolder } from "../../../support/folder.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.parse("2026-01-01T00:00:00Z");
const iso = (timeMs: number) => new Date(timeMs).toISOString();

async function openedStore(newStore: NewStore): Promise<Store> {
  const store = await openStore(await newStore(), testMachine);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

/** The time of day by hand; monotonic time goes with it. */
function handClock(nowMs: number): Clock & { nowMs: number } {
  return {
    ...systemClock,
    nowMs,
    wallMs() {
      return this.nowMs;
    },
    monotonicMs() {
      return this.nowMs;
    },
  };
}

/** One entry for each day from `START_MS` on. */
async function writeDays(store: Store, days: number): Promise<void> {
  const clock = handClock(START_MS);
  const newId = createIds(clock, testMachine.random);
  const entries = Array.from({ length: days }, (_, day) => {
    clock.nowMs = START_MS + day * DAY_MS;
    return { auditId: newId("aud"), at: iso(clock.nowMs), organizationId: null, actor: "command", requestId: null };
  });
  await store.write(async (transaction) => {
    for (const entry of entries) {
      await audit(transaction, entry, { action: "models.apply", subjectId: "catalog", details: {} });
    }
  });
}

describeOnEachStore("the audit log", (newStore) => {
  it("lets go of what is older than its retention, in batches, and of nothing else", async () => {
    const store = await openedStore(newStore);
    await writeDays(store, 1300);
    const clock = handClock(START_MS + 1300 * DAY_MS);
    const pruning = createAuditPruning(store, { ...testMachine, clock }, 30);
    await pruning.run(AbortSignal.abort());
    expect(await readAudit(store.reader, null, 10_000)).toHaveLength(1300);
    clock.nowMs += pruning.intervalMs;
    await pruning.run(new AbortController().signal);
    const left = await readAudit(store.reader, null, 10_000);
    expect(left.map(({ at }) => at)).toEqual(
      Array.from({ length: NEWEST_KEPT + 31 }, (_, index) => iso(START_MS + (1299 - index) * DAY_MS)),
    );
  });

  it("a clock that is years ahead lets nothing go, though some changes were made by it", async () => {
    const store = await openedStore(newStore);
    await writeDays(store, NEWEST_KEPT + 20);
    const clock = handClock(START_MS + 3000 * DAY_MS);
    const newId = createIds(clock, testMachine.random);
    const ahead = Array.from({ length: NEWEST_KEPT - 1 }, () => ({ auditId: newId("aud"), at: iso(clock.nowMs) }));
    await store.write(async (transaction) => {
      for (const entry of ahead) {
        const author = { ...entry, organizationId: null, actor: "command", requestId: null };
        await audit(transaction, author, { action: "models.apply", subjectId: "catalog", details: {} });
      }
    });
    await createAuditPruning(store, { ...testMachine, clock }, 2 * NEWEST_KEPT).run(new AbortController().signal);
    expect(await readAudit(store.reader, null, 10_000)).toHaveLength(2 * NEWEST_KEPT + 19);
  });

  it("is pruned each hour, however often tasks are nudged", async () => {
    const store = await openedStore(newStore);
    expect(createAuditPruning(store, testMachine, 30)).toMatchObject({ intervalMs: 3_600_000, ignoresNudges: true });
  });

  it("tells the newest first, from a moment on, and no more than was asked for", async () => {
    const store = await openedStore(newStore);
    await writeDays(store, 10);
    const newest = await readAudit(store.reader, iso(START_MS + 5 * DAY_MS), 3);
    expect(newest.map(({ at }) => at)).toEqual([9, 8, 7].map((day) => iso(START_MS + day * DAY_MS)));
    expect(await readAudit(store.reader, iso(START_MS + 5 * DAY_MS), 100)).toHaveLength(5);
  });
});

it("a log that grew by more in an hour than anyone would wait for is pruned in one run, requests in between", async () => {
  const store = await openedStore(async () => ({ kind: "sqlite", dataDirectory: testFolder("audit") }));
  const entries = 150_000;
  await store.write((transaction) =>
    sql`
      with recursive counted(n) as (select 0 union all select n + 1 from counted where n < ${entries - 1})
      insert into audit_log (id, at, actor, action, subject_id, details)
      select 'aud_00' || (1000000 + n), ${iso(START_MS - DAY_MS)}, 'command', 'models.apply', 'catalog', '{}' from counted
    `.execute(transaction),
  );
  await writeDays(store, NEWEST_KEPT + 31);
  let rests = 0;
  const clock = {
    ...handClock(START_MS + 200 * DAY_MS),
    async sleep() {
      rests += 1;
    },
  };
  await createAuditPruning(store, { ...testMachine, clock }, 30).run(new AbortController().signal);
  const { left } = await store.reader
    .selectFrom("audit_log")
    .select(({ fn }) => fn.countAll().as("left"))
    .executeTakeFirstOrThrow();
  expect(left).toBe(NEWEST_KEPT + 31);
  expect(rests).toBe(entries / 500);
});
