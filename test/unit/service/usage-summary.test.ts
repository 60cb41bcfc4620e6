import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { usageSummarySchema } from "../../../src/api/usage.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { createIds } from "../../../src/service/ids.ts";
import { createDeployment } from "../../../src/service/operations/deployments.ts";
import { summarizeUsage } from "../../../src/service/operations/usage-summary.ts";
import { BEGIN_MS, bodyOf, openServiceParts, PRINCIPAL } from "../../support/service-parts.ts";
import type { ServiceParts } from "../../support/service-parts.ts";

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const iso = (offset_s: number) => new Date(BEGIN_MS + offset_s * 1000).toISOString();

/** A period in the ledger: where it begins and ends, in seconds before the clock, and when the service named it. */
interface Entry {
  readonly start_s: number;
  readonly end_s: number;
  readonly named_s?: number;
  readonly organization_id?: string;
  readonly robot_name?: string;
}

async function withLedger(parts: ServiceParts, entries: readonly Entry[]): Promise<void> {
  await parts.addModel("pi");
  await parts.register("r1");
  const { context, call, store } = parts;
  await createDeployment(context)(call({ body: { model: "pi", robot: "r1" }, query: null }));
  const { id: deployment_id } = await store.reader.selectFrom("deployments").select("id").executeTakeFirstOrThrow();
  await store.write((transaction) =>
    transaction.updateTable("deployments").set({ usage_from: null, usage_id: null }).execute(),
  );
  const rows = entries.map(({ start_s, end_s, named_s = start_s, organization_id = "org_1", robot_name = "r1" }) => ({
    id: createIds({ ...context.machine.clock, wall_ms: () => BEGIN_MS + named_s * 1000 }, systemRandom)("use"),
    organization_id,
    deployment_id,
    robot_name,
    model_slug: "pi",
    usage_type: "robot_time",
    sku: "robot-time",
    quantity: end_s - start_s,
    unit: "second",
    period_start: iso(start_s),
    period_end: iso(end_s),
    created_at: iso(start_s),
  }));
  await store.write((transaction) => transaction.insertInto("usage_records").values(rows).execute());
}

async function summaryOf({ context, call }: ServiceParts, since_s: number, until_s: number, principal = PRINCIPAL) {
  const query = { since: iso(since_s), until: iso(until_s), by: "robot" } as const;
  return usageSummarySchema.parse(bodyOf(await summarizeUsage(context)(call({ principal, body: null, query }))));
}

describe("GET /v1/me/usage/summary", () => {
  it.each([
    ["a minute", MINUTE_S],
    ["an hour", HOUR_S],
    ["a day", DAY_S],
    ["a second more than a day", DAY_S + 1],
    ["two days", 2 * DAY_S],
    ["a week, after an outage", 7 * DAY_S],
  ])("has of a period of %s what reaches into it, and nothing of one that only touches it", async (_what, length_s) => {
    const [since_s, until_s, part_s] = [-HOUR_S, -HOUR_S / 2, 30];
    await using parts = await openServiceParts();
    await withLedger(parts, [
      { start_s: since_s - length_s, end_s: since_s, robot_name: "before" },
      { start_s: since_s - length_s + part_s, end_s: since_s + part_s, robot_name: "into" },
      { start_s: until_s - part_s, end_s: until_s - part_s + length_s, robot_name: "out of" },
      { start_s: until_s, end_s: until_s + length_s, robot_name: "after" },
    ]);
    const { items, total } = await summaryOf(parts, since_s, until_s);
    expect(items.map(({ robot, quantity }) => [robot, quantity])).toEqual([
      ["into", part_s],
      ["out of", part_s],
    ]);
    expect(total).toBe(2 * part_s);
  });

  it("has periods that were written down by clocks that differ, and those of its own organization alone", async () => {
    await using parts = await openServiceParts();
    const hour = { start_s: -HOUR_S, end_s: 0 };
    const outage = { start_s: -9 * DAY_S, end_s: 0 };
    const many = Array.from({ length: 1000 }, () => ({
      start_s: -2,
      end_s: -1,
      named_s: MINUTE_S,
      robot_name: "seconds",
    }));
    await withLedger(parts, [
      ...many,
      { ...hour, named_s: -HOUR_S - DAY_S, robot_name: "behind" },
      { ...hour, named_s: -HOUR_S + DAY_S, robot_name: "ahead" },
      { ...hour, organization_id: "org_2", robot_name: "hour of others" },
      { ...outage, organization_id: "org_2", robot_name: "outage of others" },
    ]);
    const { items } = await summaryOf(parts, -HOUR_S, 0);
    expect(items.map(({ robot, quantity }) => [robot, quantity])).toEqual([
      ["ahead", HOUR_S],
      ["behind", HOUR_S],
      ["seconds", many.length],
    ]);
    const others = await summaryOf(parts, -HOUR_S, 0, { ...PRINCIPAL, organization_id: "org_2" });
    expect(others.total).toBe(2 * HOUR_S);
  });

  it("comes to what the periods come to, wherever they lie and however many there are", async () => {
    const entry = fc
      .tuple(fc.integer({ min: -20 * DAY_S, max: 0 }), fc.oneof(fc.nat(2 * HOUR_S), fc.nat(5 * DAY_S)))
      .map(([start_s, length_s]): Entry => ({ start_s, end_s: start_s + length_s + 1 }));
    const [entries = []] = fc.sample(fc.array(entry, { minLength: 1100, maxLength: 1100, size: "max" }), {
      numRuns: 1,
      seed: 7,
    });
    await using parts = await openServiceParts();
    await withLedger(parts, entries);
    for (const [since_s, until_s] of [
      [-20 * DAY_S, 0],
      [-5 * DAY_S - 7, -3 * DAY_S + 11],
      [-HOUR_S, -HOUR_S / 2],
    ] as const) {
      const expected = entries.reduce(
        (sum, { start_s, end_s }) => sum + Math.max(0, Math.min(end_s, until_s) - Math.max(start_s, since_s)),
        0,
      );
      expect((await summaryOf(parts, since_s, until_s)).total).toBe(expected);
    }
  });
});
