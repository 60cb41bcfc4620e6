import { sql } from "kysely";
import { expect, it } from "vitest";

import { HISTORY_KEPT } from "../../../../src/api/registrations.ts";
import type { RobotSetup } from "../../../../src/api/robots.ts";
import { removeRobot } from "../../../../src/service/robots/changes.ts";
import { setupRobot } from "../../../../src/service/robots/setup.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

describeOnEachStore("robot registers again", (newStore) => {
  it.each<[what: string, parts: Partial<RobotSetup>, nudges: number]>([
    ["as it is", {}, 0],
    ["with another digest, site and labels", { configuration_digest: DIGEST, site: "lab", labels: { a: "b" } }, 0],
    ["as another type", { robot_type_id: "cart" }, 1],
    ["in another region", { region: "there" }, 1],
    ["with another contract", { contract: { cameras: 2 } }, 1],
    ["without its contract", { contract: null }, 1],
  ])(
    "%s → fleets are evaluated where they depend on it, and the audit log has what changed",
    async (_what, change, nudges) => {
      await using parts = await openServiceParts(await newStore());
      const before = { contract: { cameras: 1 } };
      await parts.register("r1", before);
      expect(parts.nudges()).toBe(0);
      parts.pass(1000);
      await parts.register("r1", { ...before, ...change });
      expect(parts.nudges()).toBe(nudges);
      const entries = await parts.store.reader.selectFrom("audit_log").select(["action", "actor"]).execute();
      const entry = { action: "robot.setup", actor: "key_1" };
      expect(entries).toEqual(Object.keys(change).length > 0 ? [entry, entry] : [entry]);
    },
  );
});

it("a key that registers in a loop → the store stops growing: the newest 100 changes of each robot are kept", async () => {
  await using parts = await openServiceParts();
  const storedPages = async () => {
    const { rows } = await sql<{ readonly page_count: number; readonly freelist_count: number }>`
      select page_count, freelist_count from pragma_page_count, pragma_freelist_count`.execute(parts.store.reader);
    return (rows[0]?.page_count ?? 0) - (rows[0]?.freelist_count ?? 0);
  };
  const entries = () => parts.store.reader.selectFrom("audit_log").select("details").orderBy("id").execute();
  const changeOften = async (begin: number) => {
    for (let count = begin; count < begin + HISTORY_KEPT; count += 1) {
      parts.pass(1000);
      await parts.register("r1", { site: `site ${count}` });
    }
  };
  await changeOften(0);
  await changeOften(HISTORY_KEPT);
  const before = await storedPages();
  await changeOften(2 * HISTORY_KEPT);
  for (let count = 0; count < HISTORY_KEPT; count += 1) await parts.register("r1", { site: "site 299" });
  expect(await storedPages()).toBeLessThanOrEqual(before + 2);
  const kept = await entries();
  expect(kept).toHaveLength(HISTORY_KEPT);
  expect([kept[0]?.details, kept.at(-1)?.details]).toEqual([
    expect.stringContaining('"site 200"'),
    expect.stringContaining('"site 299"'),
  ]);
});

it("robot removed → the state that webhooks were told of it is forgotten", async () => {
  await using parts = await openServiceParts();
  await parts.register("r1");
  const { id } = await parts.store.reader.selectFrom("robots").select("id").executeTakeFirstOrThrow();
  const told = { organization_id: "org_1", kind: "robot", state: "offline", reported_at: parts.at() } as const;
  const rows = [
    { ...told, subject_id: id },
    { ...told, subject_id: "rob_other" },
  ];
  await parts.store.write((transaction) => transaction.insertInto("reported_states").values(rows).execute());
  await removeRobot(parts.context)(parts.call({ path: { robot: "r1" }, body: null, query: null }));
  const left = await parts.store.reader.selectFrom("reported_states").select("subject_id").execute();
  expect(left).toEqual([{ subject_id: "rob_other" }]);
});

it("audit entry cannot be written → the robot is not registered", async () => {
  await using parts = await openServiceParts();
  const newId: typeof parts.context.newId = (prefix) => (prefix === "aud" ? "aud_1" : parts.context.newId(prefix));
  const setUp = setupRobot({ ...parts.context, newId }, parts.quota);
  const call = (name: string) =>
    parts.call({
      body: { name, robot_type_id: "arm", region: "here", configuration_digest: DIGEST },
      query: null,
    });
  expect((await setUp(call("r1"))).status).toBe(200);
  await expect(setUp(call("r2"))).rejects.toThrow("UNIQUE constraint failed: audit_log.id");
  const robots = await parts.store.reader.selectFrom("robots").select("name").execute();
  expect(robots).toEqual([{ name: "r1" }]);
});
