import { expect, it } from "vitest";

import type { FleetCreate } from "../../../../src/api/fleets.ts";
import { loadDemands } from "../../../../src/service/endpoints/expectation.ts";
import { createFleet } from "../../../../src/service/fleets/operations.ts";
import { listFleetFacts } from "../../../../src/service/fleets/queries.ts";
import { selectRobotIds } from "../../../../src/service/fleets/selection.ts";
import { ALL_ROWS } from "../../../../src/service/kernel/lists/pages.ts";
import { robotRow } from "../../../support/service/rows.ts";
import { openServiceParts, type ServiceParts } from "../../../support/service/service-parts.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

type Selector = NonNullable<FleetCreate["selection"]["selector"]>;

const HOUR_MS = 3_600_000;

const FLEET: Omit<FleetCreate, "name"> = {
  subject: "grasp",
  selection: { selector: { region: "here" }, membership: "snapshot" },
  operating_windows: [],
  peak_active_robots: 1,
  readiness_mode: "always_ready",
};

async function namesMatching({ store }: ServiceParts, selector: Selector, maximum = 1000): Promise<readonly string[]> {
  const ids = await selectRobotIds(store.reader, "org_1", selector, maximum);
  if (ids.length === 0) return [];
  const rows = await store.reader.selectFrom("robots").select(["id", "name"]).where("id", "in", ids).execute();
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return ids.map((id) => names.get(id) ?? "");
}

describeOnEachStore("selectors", (newStore) => {
  it("labels → all must match exactly, by name and value", async () => {
    await using parts = await openServiceParts(await newStore());
    await parts.register("plain");
    await parts.register("a", { labels: { line: "3", cell: "x" } });
    await parts.register("b", { labels: { line: "3" }, site: "hall", region: "there" });
    await parts.register("c", { labels: { line: "33", note: 'line":"3' } });
    await parts.register("d", { labels: { Line: "3", "%": "_" } });
    const names = (labels: Record<string, string>, more: Selector = {}) => namesMatching(parts, { ...more, labels });
    expect(await names({ line: "3" })).toEqual(["a", "b"]);
    expect(await names({ line: "3", cell: "x" })).toEqual(["a"]);
    expect(await names({ cell: "x", line: "4" })).toEqual([]);
    expect(await names({ "%": "_" })).toEqual(["d"]);
    expect(await names({ line: "3" }, { site: "hall" })).toEqual(["b"]);
    expect(await names({ line: "3" }, { region: "here" })).toEqual(["a"]);
    expect(await names({}, { site: "hall" })).toEqual(["b"]);
    expect(await names({})).toEqual(["plain", "a", "b", "c", "d"]);
  });

  it("labels → those of the last registration, of this organization only", async () => {
    await using parts = await openServiceParts(await newStore());
    await parts.register("a", { labels: { line: "1", cell: "x" } });
    parts.pass(1000);
    await parts.register("a", { labels: { line: "2" } });
    expect(await namesMatching(parts, { labels: { line: "1" } })).toEqual([]);
    expect(await namesMatching(parts, { labels: { cell: "x" } })).toEqual([]);
    expect(await namesMatching(parts, { labels: { line: "2" } })).toEqual(["a"]);
    expect(await selectRobotIds(parts.store.reader, "org_2", { labels: { line: "2" } }, 10)).toEqual([]);
    parts.pass(1000);
    await parts.register("a");
    expect(await namesMatching(parts, { labels: { line: "2" } })).toEqual([]);
  });

  it("few matches among many robots → oldest first, at most one more than the maximum", async () => {
    await using parts = await openServiceParts(await newStore());
    const robots = Array.from({ length: 4500 }, (_, index) => {
      const id = `rob_${String(index).padStart(5, "0")}`;
      const site = index % 1500 === 1499 ? "rare" : null;
      return robotRow({ id, organization_id: "org_1", name: `r${index}`, site });
    });
    await parts.store.write(async (transaction) => {
      for (let start = 0; start < robots.length; start += 500) {
        await transaction
          .insertInto("robots")
          .values(robots.slice(start, start + 500))
          .execute();
      }
    });
    expect(await namesMatching(parts, { site: "rare" })).toEqual(["r1499", "r2999", "r4499"]);
    expect(await namesMatching(parts, { site: "rare" }, 1)).toEqual(["r1499", "r2999"]);
    expect(await namesMatching(parts, { site: "nowhere" })).toEqual([]);
  });
});

describeOnEachStore("demands of fleets", (newStore) => {
  it("scheduled fleets → the opening of the first window that is not over, boundaries included", async () => {
    await using parts = await openServiceParts(await newStore());
    await parts.addModel("grasp");
    await parts.register("r1");
    const beginMs = parts.context.machine.clock.wallMs();
    const window = (startH: number, endH: number) => ({
      starts_at: new Date(beginMs + startH * HOUR_MS).toISOString(),
      ends_at: new Date(beginMs + endH * HOUR_MS).toISOString(),
    });
    const plans = [[window(5, 6), window(1, 2)], [window(2, 3)]];
    for (const [index, operatingWindows] of plans.entries()) {
      const body: FleetCreate = {
        ...FLEET,
        name: `f${index}`,
        readiness_mode: "scheduled",
        operating_windows: operatingWindows,
      };
      expect((await createFleet(parts.context)(parts.call({ body, query: null }))).status).toBe(200);
    }
    const opens = async (hours: number) => {
      const demands = await loadDemands(parts.store.reader, ["ckpt_grasp"], beginMs + hours * HOUR_MS);
      return demands.map(({ opensMs }) => (opensMs === null ? null : (opensMs - beginMs) / HOUR_MS));
    };
    expect([await opens(0), await opens(1), await opens(1.9)]).toEqual([[1], [1], [1]]);
    expect([await opens(2), await opens(3), await opens(5.5)]).toEqual([[2], [5], [5]]);
    expect(await opens(6)).toEqual([null]);
  });
});

describeOnEachStore("fleets", (newStore) => {
  it("contracts that differ only in what no model requires → one group of members", async () => {
    await using parts = await openServiceParts(await newStore());
    await parts.addModel("grasp");
    await parts.require("grasp", { camera_roles: ["wrist"] });
    const contractOf = (serial: number, role: string) => ({ serial, cameras: [{ role, serial }] });
    for (const serial of [1, 2, 3]) await parts.register(`r${serial}`, { contract: contractOf(serial, "wrist") });
    await parts.register("blind", { contract: contractOf(4, "top") });
    const body: FleetCreate = { ...FLEET, name: "f" };
    await createFleet(parts.context)(parts.call({ body, query: null }));
    const [facts] = await listFleetFacts(parts.store.reader, "org_1", ALL_ROWS);
    expect(facts?.members).toMatchObject([
      { count: 1, example: "blind", obstacle: "needs a camera with role wrist; the robot has top" },
      { count: 3, example: "r1", obstacle: null },
    ]);
  });
});
