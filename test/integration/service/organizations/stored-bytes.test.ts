import { expect, it } from "vitest";

import { createStoredBytes } from "../../../../src/service/organizations/stored-bytes.ts";
import { createHistoryBudget } from "../../../../src/service/robots/history/budget.ts";
import { createRoom } from "../../../../src/service/robots/room.ts";
import { setupRobot } from "../../../../src/service/robots/setup/setup.ts";
import { SERVICE_LIMITS } from "../../../../src/service/limits.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { openServiceParts, type ServiceParts } from "../../../support/service/service-parts.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const KIBIBYTE = 1024;
/** The unit of the first four characters of an id. */
const PART_MS = 2 ** 30;
const NEVER = new AbortController().signal;

/** Adds `count` audit entries of one KiB for each organization, alternating. */
function addEntries(
  { store }: ServiceParts,
  organizationIds: readonly (string | null)[],
  count: number,
  part = "0000",
): Promise<void> {
  const entryOf = (index: number, organizationId: string | null) => ({
    id: `aud_${part}${String(index).padStart(6, "0")}${organizationId ?? ""}`,
    organization_id: organizationId,
    at: "2026-01-01T00:00:00.000Z",
    actor: "key_1",
    action: "robot.setup",
    subject_id: "rob_1",
    details: "x".repeat(KIBIBYTE),
  });
  return store.write(async (transaction) => {
    for (let index = 0; index < count; index += 1) {
      const entries = organizationIds.map((organizationId) => entryOf(index, organizationId));
      await transaction.insertInto("audit_log").values(entries).execute();
    }
  });
}

describeOnEachStore("stored bytes of an organization", (newStore) => {
  it("counted in pages, with a pause between two; additions in between count at once", async () => {
    await using parts = await openServiceParts(await newStore());
    const sleeps: number[] = [];
    const sleep = async (durationMs: number) => void sleeps.push(durationMs);
    const clock = { ...testMachine.clock, sleep, wallMs: () => 0 };
    const stored = createStoredBytes(parts.store, 2000 * KIBIBYTE, { clock });
    await addEntries(parts, ["org_1", null, "org_2"], 1500);
    // Before the first count, no organization is full.
    expect(stored.isFull("org_1")).toBe(false);
    await stored.task.run(NEVER);
    expect([stored.isFull("org_1"), stored.isFull("org_2"), sleeps.length]).toEqual([true, true, 2]);
    await parts.store.write((transaction) =>
      transaction
        .deleteFrom("audit_log")
        .where("organization_id", "=", "org_2")
        .where("id", ">", "aud_0000000100")
        .execute(),
    );
    await stored.task.run(NEVER);
    expect([stored.isFull("org_1"), stored.isFull("org_2")]).toEqual([true, false]);
    stored.add("org_2", 1900 * KIBIBYTE);
    expect(stored.isFull("org_2")).toBe(true);
    // The addition was never stored.
    await stored.task.run(NEVER);
    expect(stored.isFull("org_2")).toBe(false);
  });

  it("parts of the audit log to which nothing is added → counted once, until they are pruned", async () => {
    await using parts = await openServiceParts(await newStore());
    const sleeps: number[] = [];
    let now = 3;
    const sleep = async (durationMs: number) => void sleeps.push(durationMs);
    const clock = { ...testMachine.clock, sleep, wallMs: () => now * PART_MS };
    const stored = createStoredBytes(parts.store, 7200 * KIBIBYTE, { clock });
    const countAgain = async () => {
      sleeps.splice(0);
      await stored.task.run(NEVER);
      return { isFull: stored.isFull("org_1"), pages: 1 + sleeps.length };
    };
    await addEntries(parts, ["org_1"], 3000, "0000");
    for (const part of ["0001", "0002", "0003"]) await addEntries(parts, ["org_1"], 500, part);
    expect(await countAgain()).toEqual({ isFull: false, pages: 3 });
    now = 4;
    await addEntries(parts, ["org_1"], 500, "0004");
    expect(await countAgain()).toEqual({ isFull: false, pages: 1 });
    await addEntries(parts, ["org_1"], 500, "0003x");
    expect(await countAgain()).toEqual({ isFull: true, pages: 1 });
    await parts.store.write((transaction) =>
      transaction.deleteFrom("audit_log").where("id", "<", "aud_0001").execute(),
    );
    expect(await countAgain()).toEqual({ isFull: false, pages: 1 });
  });

  it("wrong clock, of entries or of this process → later additions still count", async () => {
    await using parts = await openServiceParts(await newStore());
    let now = 3;
    const clock = { ...testMachine.clock, wallMs: () => now * PART_MS };
    const stored = createStoredBytes(parts.store, 60 * KIBIBYTE, { clock });
    for (const part of ["0003", "0007", "0008", "0009"]) await addEntries(parts, ["org_1"], 10, part);
    for (now of [3, 9, 3]) {
      await stored.task.run(NEVER);
      expect(stored.isFull("org_1")).toBe(false);
    }
    await addEntries(parts, ["org_1"], 10, "0003x");
    await stored.task.run(NEVER);
    expect(stored.isFull("org_1")).toBe(true);
  });

  it("over the limit → new robots and larger contracts are refused; the same registrations and other organizations are not", async () => {
    await using parts = await openServiceParts(await newStore());
    const stored = createStoredBytes(parts.store, 61 * KIBIBYTE, testMachine);
    const met: string[] = [];
    const limitMet = (limit: string) => void met.push(limit);
    const history = createHistoryBudget(SERVICE_LIMITS.historyBytesPerDay, stored, testMachine.clock);
    const context = { ...parts.context, storedBytes: stored, history, limitMet };
    const setUp = setupRobot(context, createRoom(context, SERVICE_LIMITS.robots));
    const register = async (name: string, contractBytes: number, organizationId = "org_1") => {
      const contract = { description: "x".repeat(contractBytes) };
      const body = { name, robot_type_id: "arm", region: "here", configuration_digest: DIGEST, contract };
      const call = parts.call({ body, query: null });
      const { status } = await setUp({ ...call, principal: { ...call.principal, organizationId } });
      return status;
    };
    for (const name of ["a", "b"]) expect(await register(name, 30 * KIBIBYTE)).toBe(200);
    expect([await register("b", 30 * KIBIBYTE), met]).toEqual([200, []]);
    // Over the limit by what this process added, and by what the store holds.
    for (const counts of [false, true]) {
      if (counts) await stored.task.run(NEVER);
      expect([await register("c", 1), await register("b", 31 * KIBIBYTE)], String(counts)).toEqual([409, 409]);
      expect([await register("a", 30 * KIBIBYTE), await register("b", 30 * KIBIBYTE)]).toEqual([200, 200]);
      expect(await register("c", 1, "org_2")).toBe(200);
    }
    expect(met).toEqual(Array.from({ length: 4 }, () => "limits.stored_mib"));
    // A smaller contract frees space.
    expect(await register("b", 1)).toBe(200);
    await stored.task.run(NEVER);
    expect(await register("c", 1)).toBe(200);
  });
});
