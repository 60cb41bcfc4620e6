import { expect, it, onTestFinished } from "vitest";

import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { createAuditPruning, NEWEST_KEPT } from "../../../../src/service/audit/audit.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { audit } from "../../../../src/service/kernel/store/audit.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.parse("2026-01-01T00:00:00Z");
const iso = (timeMs: number) => new Date(timeMs).toISOString();

async function open(newStore: NewStore): Promise<Store> {
  const store = await openStore(await newStore(), testMachine);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

/** Newest first. */
function entriesOf({ reader }: Store): Promise<{ readonly at: string }[]> {
  return reader.selectFrom("audit_log").select("at").orderBy("id", "desc").execute();
}

/** A clock that the test sets; monotonic time equals wall-clock time. */
function manualClock(nowMs: number): Clock & { nowMs: number } {
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

/** Writes one entry for each day from `START_MS` on. */
async function writeDays(store: Store, days: number): Promise<void> {
  const clock = manualClock(START_MS);
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

describeOnEachStore("audit log", (newStore) => {
  it("pruning → deletes entries older than the retention, in batches, except the newest", async () => {
    const store = await open(newStore);
    await writeDays(store, 1300);
    const clock = manualClock(START_MS + 1300 * DAY_MS);
    const pruning = createAuditPruning({ store, machine: { ...testMachine, clock } }, 30);
    await pruning.run(AbortSignal.abort());
    expect(await entriesOf(store)).toHaveLength(1300);
    clock.nowMs += pruning.intervalMs;
    await pruning.run(new AbortController().signal);
    const left = await entriesOf(store);
    expect(left.map(({ at }) => at)).toEqual(
      Array.from({ length: NEWEST_KEPT + 31 }, (_, index) => iso(START_MS + (1299 - index) * DAY_MS)),
    );
  });

  it("clock years ahead, some entries written with it → nothing is deleted", async () => {
    const store = await open(newStore);
    await writeDays(store, NEWEST_KEPT + 20);
    const clock = manualClock(START_MS + 3000 * DAY_MS);
    const newId = createIds(clock, testMachine.random);
    const ahead = Array.from({ length: NEWEST_KEPT - 1 }, () => ({ auditId: newId("aud"), at: iso(clock.nowMs) }));
    await store.write(async (transaction) => {
      for (const entry of ahead) {
        const author = { ...entry, organizationId: null, actor: "command", requestId: null };
        await audit(transaction, author, { action: "models.apply", subjectId: "catalog", details: {} });
      }
    });
    await createAuditPruning({ store, machine: { ...testMachine, clock } }, 2 * NEWEST_KEPT).run(
      new AbortController().signal,
    );
    expect(await entriesOf(store)).toHaveLength(2 * NEWEST_KEPT + 19);
  });

  it("pruning task: runs hourly and ignores nudges", async () => {
    const store = await open(newStore);
    expect(createAuditPruning({ store, machine: testMachine }, 30)).toMatchObject({
      intervalMs: 3_600_000,
      ignoresNudges: true,
    });
  });
});
