import { expect, it, onTestFinished } from "vitest";

import type { Heartbeat } from "../../../../src/api/installations.ts";
import { draftCredential } from "../../../../src/service/identity/credentials.ts";
import { IDENTITY_SETTINGS, install } from "../../../../src/service/identity/installations.ts";
import { createLiveness } from "../../../../src/service/identity/presence.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const READY: Heartbeat = { readiness: "ready" };

/** The liveness of enrolled robots, and a counter of its commits. */
async function scene(newStore: NewStore, robots: number) {
  const parts = await openServiceParts(await newStore());
  onTestFinished(parts[Symbol.asyncDispose]);
  const { context, store } = parts;
  const ids: string[] = [];
  for (let index = 0; index < robots; index += 1) {
    await parts.register(`arm-${index}`);
    const id = context.newId("rinst");
    ids.push(id);
    await store.write(async (transaction) => {
      const { id: robotId } = await transaction
        .selectFrom("robots")
        .select("id")
        .where("name", "=", `arm-${index}`)
        .executeTakeFirstOrThrow();
      const of = { organization_id: "org_1", robot_id: robotId, approved_by: "key_1" };
      const installation = { ...of, id, public_key: `key-${index}` };
      await install(transaction, installation, draftCredential(context.machine, IDENTITY_SETTINGS), IDENTITY_SETTINGS);
    });
  }
  let commits = 0;
  const counted: Pick<typeof store, "write"> = {
    write: (job) => {
      commits += 1;
      return store.write(job);
    },
  };
  const liveness = createLiveness(counted, context.machine, IDENTITY_SETTINGS.onlineWindowMs);
  return {
    ...parts,
    ids,
    liveness,
    run: () => liveness.task.run(new AbortController().signal),
    commits: () => commits,
    stored: async () =>
      store.reader
        .selectFrom("installations")
        .select(["readiness", "reason", "runtime_version", "last_seen_at", "last_address"])
        .orderBy("id")
        .execute(),
  };
}

describeOnEachStore("heartbeats", (newStore) => {
  it("of many robots → one commit", async () => {
    const { ids, liveness, run, commits, stored, at } = await scene(newStore, 20);
    for (const id of ids) liveness.note(id, READY, "192.0.2.1");
    await run();
    expect(commits()).toBe(1);
    const row = { readiness: "ready", last_seen_at: at(), last_address: "192.0.2.1" };
    expect(await stored()).toEqual(ids.map(() => expect.objectContaining(row)));
  });

  it("unchanged → written every 20 seconds, no commits in between", async () => {
    const { ids, liveness, run, commits, stored, at, pass } = await scene(newStore, 1);
    const [id = ""] = ids;
    for (let second = 0; second <= 60; second += 10) {
      liveness.note(id, READY, "192.0.2.1");
      await run();
      pass(10_000);
    }
    expect(commits()).toBe(4);
    expect(await stored()).toMatchObject([{ last_seen_at: at(-10_000) }]);
    expect(liveness.seen(id, at(-20_000))?.at).toBe(at(-10_000));
  });

  it("1001 robots → 1000 in one commit, the rest in the next", async () => {
    const { liveness, run, commits } = await scene(newStore, 0);
    for (let index = 0; index <= 1000; index += 1) liveness.note(`rinst_${index}`, READY, "192.0.2.1");
    const counts: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await run();
      counts.push(commits());
    }
    expect(counts).toEqual([1, 2, 2]);
  });

  it.each([
    ["readiness", { readiness: "ready", reason: "no network" }, "192.0.2.1"],
    ["reason", { readiness: "not_ready", reason: "no arm" }, "192.0.2.1"],
    ["address", { readiness: "not_ready", reason: "no network" }, "192.0.2.2"],
  ] as const)("only the %s changed → written at once", async (_what, heartbeat, address) => {
    const { ids, liveness, run, commits } = await scene(newStore, 1);
    const [id = ""] = ids;
    liveness.note(id, { readiness: "not_ready", reason: "no network" }, "192.0.2.1");
    await run();
    liveness.note(id, heartbeat, address);
    await run();
    expect(commits()).toBe(2);
  });

  it("store has a later one from another replica → the noted one is not used", async () => {
    const { ids, liveness, at } = await scene(newStore, 1);
    const [id = ""] = ids;
    liveness.note(id, READY, "192.0.2.1");
    expect(liveness.seen(id, null)?.at).toBe(at());
    expect(liveness.seen(id, at())?.at).toBe(at());
    expect(liveness.seen(id, at(1))).toBeUndefined();
  });

  it("version sent to another replica since → kept", async () => {
    const { ids, liveness, run, stored, store, context, pass } = await scene(newStore, 1);
    const [id = ""] = ids;
    const other = createLiveness(store, context.machine, IDENTITY_SETTINGS.onlineWindowMs);
    liveness.note(id, { ...READY, runtime_version: "1.0" }, "192.0.2.1");
    await run();
    other.note(id, { ...READY, runtime_version: "2.0" }, "192.0.2.1");
    await other.flush();
    pass(20_000);
    liveness.note(id, READY, "192.0.2.1");
    await run();
    expect(await stored()).toMatchObject([{ runtime_version: "2.0" }]);
    expect(liveness.seen(id, null)?.runtimeVersion).toBeNull();
  });

  it("same version each time → one commit", async () => {
    const { ids, liveness, run, commits, pass } = await scene(newStore, 1);
    const [id = ""] = ids;
    for (let beat = 0; beat < 3; beat += 1) {
      liveness.note(id, { ...READY, runtime_version: "1.0" }, "192.0.2.1");
      await run();
      pass(5000);
    }
    expect(commits()).toBe(1);
    expect(liveness.revision).toBe(1);
  });

  it("version sent during a write, or whose commit failed → written with the next one", async () => {
    const { ids, stored, store, context, pass } = await scene(newStore, 1);
    const [id = ""] = ids;
    let during: () => void = () => {};
    const liveness = createLiveness(
      {
        write: async (job) => {
          during();
          return store.write(job);
        },
      },
      context.machine,
      IDENTITY_SETTINGS.onlineWindowMs,
    );
    const tell = (version: string) => liveness.note(id, { ...READY, runtime_version: version }, "192.0.2.1");
    tell("1.0");
    during = () => {
      during = () => {};
      tell("2.0");
    };
    await liveness.flush();
    expect(await stored()).toMatchObject([{ runtime_version: "2.0" }]);
    pass(20_000);
    tell("3.0");
    during = () => {
      throw new Error("no store");
    };
    await expect(liveness.flush()).rejects.toThrow("no store");
    during = () => {};
    liveness.note(id, READY, "192.0.2.1");
    await liveness.flush();
    expect(await stored()).toMatchObject([{ runtime_version: "3.0" }]);
  });

  it("store unavailable → kept, and written later", async () => {
    const { ids, liveness, stored, store, context } = await scene(newStore, 2);
    let isBroken = true;
    const flaky = createLiveness(
      { write: (job) => (isBroken ? Promise.reject(new Error("no store")) : store.write(job)) },
      context.machine,
      IDENTITY_SETTINGS.onlineWindowMs,
    );
    for (const id of ids) flaky.note(id, READY, "192.0.2.1");
    await expect(flaky.flush()).rejects.toThrow("no store");
    isBroken = false;
    await flaky.flush();
    expect((await stored()).map(({ readiness }) => readiness)).toEqual(["ready", "ready"]);
    expect(liveness.revision).toBe(0);
  });

  it("robot comes back online or reports a change → revision increments; otherwise it stays", async () => {
    const { ids, liveness, pass } = await scene(newStore, 1);
    const [id = ""] = ids;
    const revisions: number[] = [];
    const beat = (heartbeat: Heartbeat) => {
      liveness.note(id, heartbeat, "192.0.2.1");
      revisions.push(liveness.revision);
    };
    beat(READY);
    pass(30_000);
    beat(READY);
    beat({ readiness: "not_ready", reason: "x" });
    pass(IDENTITY_SETTINGS.onlineWindowMs + 1);
    beat({ readiness: "not_ready", reason: "x" });
    expect(revisions).toEqual([1, 1, 2, 3]);
  });
});
