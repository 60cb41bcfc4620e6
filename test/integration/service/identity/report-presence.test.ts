/** Which changes of presence are reported, and to whom. test/integration/service/webhooks covers what receivers get. */
import { expect, it, onTestFinished } from "vitest";

import { IDENTITY_SETTINGS, revokeInstallationOf } from "../../../../src/service/identity/installations.ts";
import { createReportPresence } from "../../../../src/service/identity/presence.ts";
import { installationRow, robotRow, webhookRow } from "../../../support/service/rows.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const GAP_MS = 60_000;

/** A webhook of `org_1` for the presence of its robots, and the task that reports presence. */
async function scene(newStore: NewStore) {
  const parts = await openServiceParts(await newStore());
  onTestFinished(parts[Symbol.asyncDispose]);
  const { context, store, at } = parts;
  const task = createReportPresence(context);
  const webhook = webhookRow({ events: '["robot.offline","robot.online"]', created_at: at() });
  await store.write((transaction) => transaction.insertInto("webhooks").values(webhook).execute());
  return {
    ...parts,
    async add(name: string, { organization = "org_1", removed = false } = {}) {
      const installation = { id: `rinst_${name}`, organization_id: organization, robot_id: `robot_${name}` };
      const of = { id: installation.robot_id, organization_id: organization, name, removed_at: removed ? at() : null };
      await store.write(async (transaction) => {
        await transaction
          .insertInto("robots")
          .values(robotRow({ ...of, installation_id: installation.id }))
          .execute();
        await transaction
          .insertInto("installations")
          .values(installationRow({ ...installation, last_seen_at: at() }))
          .execute();
      });
    },
    update: (name: string, change: { last_seen_at?: string; state?: "active" | "frozen" }) =>
      store.write((transaction) =>
        transaction.updateTable("installations").set(change).where("id", "=", `rinst_${name}`).execute(),
      ),
    revoke: (name: string) =>
      store.write((transaction) => revokeInstallationOf(transaction, "org_1", `robot_${name}`, at())),
    /** Runs the task once. Resolves with the names and types of new events. */
    async run() {
      await task.run(new AbortController().signal);
      const rows = await store.reader.selectFrom("webhook_outbox").select("body").execute();
      await store.write((transaction) => transaction.deleteFrom("webhook_outbox").execute());
      const events = rows.map(({ body }) => {
        const { type, data } = JSON.parse(body) as { type: string; data: { name: string } };
        return `${data.name} ${type}`;
      });
      return events.toSorted();
    },
    known: async () => {
      const rows = await store.reader
        .selectFrom("reported_states")
        .select(["subject_id", "state"])
        .where("kind", "=", "robot")
        .orderBy("subject_id")
        .execute();
      return rows.map(({ subject_id: id, state }) => `${id} ${state}`);
    },
  };
}

describeOnEachStore("report-presence", (newStore) => {
  it("events → only for robots of organizations with a webhook, not removed, not revoked", async () => {
    const { add, revoke, run, known, pass } = await scene(newStore);
    await add("mine");
    await add("foreign", { organization: "org_2" });
    await add("removed", { removed: true });
    await add("revoked");
    await revoke("revoked");
    expect(await run()).toEqual([]);
    expect(await known()).toEqual(["robot_mine online"]);
    pass(IDENTITY_SETTINGS.onlineWindowMs + GAP_MS);
    expect(await run()).toEqual(["mine robot.offline"]);
    expect(await known()).toEqual(["robot_mine offline"]);
  });

  it("robot.offline → 30 s after the online window; robot.online → at once, but at least a minute after the last event", async () => {
    const { add, update, run, pass, at } = await scene(newStore);
    await add("arm");
    expect(await run()).toEqual([]);
    pass(IDENTITY_SETTINGS.onlineWindowMs + 30_000);
    expect(await run()).toEqual([]);
    pass(1);
    expect(await run()).toEqual(["arm robot.offline"]);
    await update("arm", { last_seen_at: at() });
    pass(GAP_MS - 1);
    expect(await run()).toEqual([]);
    pass(1);
    expect(await run()).toEqual(["arm robot.online"]);
    expect(await run()).toEqual([]);
  });

  it("robot first seen after a silent window → offline, no event", async () => {
    const { add, run, known, pass } = await scene(newStore);
    await add("arm");
    pass(IDENTITY_SETTINGS.onlineWindowMs + 1);
    expect(await run()).toEqual([]);
    expect(await known()).toEqual(["robot_arm offline"]);
  });

  it("frozen robot → offline after a minute, despite heartbeats", async () => {
    const { add, update, run, pass, at } = await scene(newStore);
    await add("arm");
    await run();
    await update("arm", { state: "frozen" });
    pass(GAP_MS);
    await update("arm", { last_seen_at: at() });
    expect(await run()).toEqual(["arm robot.offline"]);
  });

  it("201 robots of one organization → each is reported once", async () => {
    const { store, run, known, at, pass } = await scene(newStore);
    const names = Array.from({ length: 201 }, (_, index) => `arm-${String(index).padStart(3, "0")}`);
    await store.write(async (transaction) => {
      const of = (name: string) => ({ id: `robot_${name}`, organization_id: "org_1" });
      await transaction
        .insertInto("robots")
        .values(names.map((name) => robotRow({ ...of(name), name, installation_id: `rinst_${name}` })))
        .execute();
      const installations = names.map((name) =>
        installationRow({ organization_id: "org_1", robot_id: of(name).id, id: `rinst_${name}`, last_seen_at: at() }),
      );
      await transaction.insertInto("installations").values(installations).execute();
    });
    expect(await run()).toEqual([]);
    expect(await known()).toHaveLength(names.length);
    // Nothing changed.
    pass(GAP_MS);
    expect(await run()).toEqual([]);
    pass(IDENTITY_SETTINGS.onlineWindowMs + GAP_MS);
    expect(await run()).toEqual(names.map((name) => `${name} robot.offline`));
  });

  it("organization without a webhook → its reported robot states are forgotten, those of fleets are kept", async () => {
    const { add, run, known, store, at } = await scene(newStore);
    await add("arm");
    await run();
    const state = { organization_id: "org_2", state: "offline", reported_at: at() };
    const rows = [
      { ...state, subject_id: "robot_foreign", kind: "robot" as const },
      { ...state, subject_id: "fleet_foreign", kind: "fleet" as const },
    ];
    await store.write((transaction) => transaction.insertInto("reported_states").values(rows).execute());
    await run();
    expect(await known()).toEqual(["robot_arm online"]);
    const fleets = await store.reader
      .selectFrom("reported_states")
      .select("subject_id")
      .where("kind", "=", "fleet")
      .execute();
    expect(fleets).toEqual([{ subject_id: "fleet_foreign" }]);
  });
});
