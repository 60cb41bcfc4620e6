import { describe, expect, it, onTestFinished } from "vitest";

import type { RobotSetup } from "../../../../src/api/robots.ts";
import { createHistoryBudget } from "../../../../src/service/robots/history/budget.ts";
import { removeRobot } from "../../../../src/service/robots/removal.ts";
import { setupRobot } from "../../../../src/service/robots/setup/setup.ts";
import { openServiceParts, PRINCIPAL, type ServiceParts } from "../../../support/service/service-parts.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

it.each<[what: string, parts: Partial<RobotSetup>, nudges: number]>([
  ["as it is", {}, 0],
  ["with another digest, site and labels", { configuration_digest: DIGEST, site: "lab", labels: { a: "b" } }, 0],
  ["as another type", { robot_type_id: "cart" }, 1],
  ["in another region", { region: "there" }, 1],
  ["with another contract", { contract: { cameras: 2 } }, 1],
])(
  "robot registers again %s → tasks are woken as often as necessary, the audit log has both",
  async (_what, change, nudges) => {
    await using parts = await openServiceParts();
    await parts.register("r1");
    expect(parts.nudges()).toBe(0);
    parts.pass(1000);
    await parts.register("r1", change);
    expect(parts.nudges()).toBe(nudges);
    const entries = await parts.store.reader
      .selectFrom("audit_log")
      .select(["id", "previous_id"])
      .orderBy("id")
      .execute();
    expect(entries.map(({ previous_id: previousId }) => previousId)).toEqual([null, entries[0]?.id]);
  },
);

describe("audit entries when a key registers in a loop", () => {
  const entries = ({ store }: ServiceParts) =>
    store.reader.selectFrom("audit_log").select(["id", "previous_id"]).orderBy("id").execute();
  const LIMITS = { key: 8000, organization: 12_000 };
  const HALF_A_DAY_MS = 12 * 3_600_000;

  async function scene() {
    const parts = await openServiceParts();
    onTestFinished(() => parts[Symbol.asyncDispose]());
    const met: string[] = [];
    const limitMet = (limit: string) => void met.push(limit);
    const { storedBytes, machine } = parts.context;
    const history = createHistoryBudget(LIMITS, storedBytes, machine.clock);
    const setUp = setupRobot({ ...parts.context, history, limitMet }, parts.room);
    const register = async (digit: number, keyId = "key_1") => {
      parts.pass(1000);
      const configurationDigest = `sha256:${String(digit).repeat(64)}`;
      const body = { name: "r1", robot_type_id: "arm", region: "here", configuration_digest: configurationDigest };
      return setUp(parts.call({ principal: { ...PRINCIPAL, keyId }, body, query: null }));
    };
    return { parts, register, met };
  }

  it("registrations without a change → recorded up to half of the daily budget; the chain of entries stays complete", async () => {
    const { parts, register } = await scene();
    for (let count = 0; count < 50; count += 1) expect((await register(1)).status).toBe(200);
    const some = (await entries(parts)).length;
    expect(some).toBeGreaterThan(2);
    expect(some).toBeLessThan(12);
    expect((await register(2)).status).toBe(200);
    const all = await entries(parts);
    expect(all.map(({ previous_id: previousId }) => previousId)).toEqual([
      null,
      ...all.slice(0, -1).map(({ id }) => id),
    ]);
    expect(all).toHaveLength(some + 1);
    const robot = await parts.store.reader.selectFrom("robots").select(["audit_id", "updated_at"]).executeTakeFirst();
    expect(robot).toEqual({ audit_id: all.at(-1)?.id, updated_at: parts.at() });
  });

  it("changes → recorded up to the entire budget, then refused; other keys are not affected, and this one recovers later", async () => {
    const { parts, register, met } = await scene();
    let taken = 0;
    while ((await register(taken % 9)).status === 200) taken += 1;
    const refused = await register(1);
    expect(refused).toMatchObject({ status: 429, headers: { "retry-after": "600" } });
    expect([(await entries(parts)).length, taken > 5, taken < 20]).toEqual([taken, true, true]);
    expect(met.at(-1)).toBe("limits.history_mib_per_day.key");
    let others = 0;
    while ((await register(others % 9, "key_2")).status === 200) others += 1;
    expect([others > 0, others < taken]).toEqual([true, true]);
    expect(met.at(-1)).toBe("limits.history_mib_per_day.organization");
    parts.pass(HALF_A_DAY_MS);
    expect((await register(1)).status).toBe(200);
  });
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
  await removeRobot(parts.context, parts.room)(parts.call({ path: { robot: "r1" }, body: null, query: null }));
  const left = await parts.store.reader.selectFrom("reported_states").select("subject_id").execute();
  expect(left).toEqual([{ subject_id: "rob_other" }]);
});

it("audit entry cannot be written → the robot is not registered", async () => {
  await using parts = await openServiceParts();
  const newId: typeof parts.context.newId = (prefix) => (prefix === "aud" ? "aud_1" : parts.context.newId(prefix));
  const setUp = setupRobot({ ...parts.context, newId }, parts.room);
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
