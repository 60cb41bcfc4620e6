import * as fc from "fast-check";
import { expect, it } from "vitest";

import { USAGE_GROUPINGS, type UsageGrouping, usageSummarySchema } from "../../../../src/api/usage.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { createDeployment } from "../../../../src/service/deployments/operations.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { summarizeUsage, WAITING_SUMMARIES_MAXIMUM } from "../../../../src/service/usage/summary.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import {
  BEGIN_MS,
  bodyOf,
  openServiceParts,
  PRINCIPAL,
  type ServiceParts,
} from "../../../support/service/service-parts.ts";

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const iso = (offsetS: number) => new Date(BEGIN_MS + offsetS * 1000).toISOString();

/** A period in the ledger: start and end in seconds before the clock, and its creation time by the service. */
interface Entry {
  readonly startS: number;
  readonly endS: number;
  readonly namedS?: number;
  readonly organization_id?: string;
  readonly robot_name?: string;
}

async function withLedger(parts: ServiceParts, entries: readonly Entry[]): Promise<void> {
  await parts.addModel("pi");
  await parts.register("r1");
  const { context, call, store } = parts;
  await createDeployment(context)(call({ body: { model: "pi", robot: "r1" }, query: null }));
  const { id: deploymentId } = await store.reader.selectFrom("deployments").select("id").executeTakeFirstOrThrow();
  await store.write((transaction) =>
    transaction.updateTable("deployments").set({ usage_from: null, usage_id: null }).execute(),
  );
  const rows = entries.map(
    ({ startS, endS, namedS = startS, organization_id: organizationId = "org_1", robot_name: robotName = "r1" }) => ({
      id: createIds({ ...context.machine.clock, wallMs: () => BEGIN_MS + namedS * 1000 }, systemRandom)("use"),
      organization_id: organizationId,
      deployment_id: deploymentId,
      robot_name: robotName,
      model_slug: "pi",
      usage_type: "robot_time",
      sku: "robot-time",
      quantity: endS - startS,
      unit: "second",
      period_start: iso(startS),
      period_end: iso(endS),
      created_at: iso(startS),
    }),
  );
  await store.write((transaction) => transaction.insertInto("usage_records").values(rows).execute());
}

async function summaryOf(
  { context, call }: ServiceParts,
  sinceS: number,
  untilS: number,
  { principal = PRINCIPAL, by = "robot" }: { principal?: typeof PRINCIPAL; by?: UsageGrouping } = {},
) {
  const query = { since: iso(sinceS), until: iso(untilS), by };
  return usageSummarySchema.parse(bodyOf(await summarizeUsage(context)(call({ principal, body: null, query }))));
}

describeOnEachStore("GET /v1/me/usage/summary", (newStore) => {
  it.each([
    ["a minute", MINUTE_S],
    ["an hour", HOUR_S],
    ["a day", DAY_S],
    ["a second more than a day", DAY_S + 1],
    ["two days", 2 * DAY_S],
    ["a week, after an outage", 7 * DAY_S],
  ])("period of %s → only the part inside the window; adjacent period → nothing", async (_what, lengthS) => {
    const [sinceS, untilS, partS] = [-HOUR_S, -HOUR_S / 2, 30];
    await using parts = await openServiceParts(await newStore());
    await withLedger(parts, [
      { startS: sinceS - lengthS, endS: sinceS, robot_name: "before" },
      { startS: sinceS - lengthS + partS, endS: sinceS + partS, robot_name: "into" },
      { startS: untilS - partS, endS: untilS - partS + lengthS, robot_name: "out of" },
      { startS: untilS, endS: untilS + lengthS, robot_name: "after" },
    ]);
    const { items, total } = await summaryOf(parts, sinceS, untilS);
    expect(items.map(({ robot, quantity }) => [robot, quantity])).toEqual([
      ["into", partS],
      ["out of", partS],
    ]);
    expect(total).toBe(2 * partS);
  });

  it("periods recorded by different clocks → included, only those of its own organization", async () => {
    await using parts = await openServiceParts(await newStore());
    const hour = { startS: -HOUR_S, endS: 0 };
    const outage = { startS: -9 * DAY_S, endS: 0 };
    const many = Array.from({ length: 1000 }, () => ({
      startS: -2,
      endS: -1,
      namedS: MINUTE_S,
      robot_name: "seconds",
    }));
    await withLedger(parts, [
      ...many,
      { ...hour, namedS: -HOUR_S - DAY_S, robot_name: "behind" },
      { ...hour, namedS: -HOUR_S + DAY_S, robot_name: "ahead" },
      { ...hour, organization_id: "org_2", robot_name: "hour of others" },
      { ...outage, organization_id: "org_2", robot_name: "outage of others" },
    ]);
    const { items } = await summaryOf(parts, -HOUR_S, 0);
    expect(items.map(({ robot, quantity }) => [robot, quantity])).toEqual([
      ["ahead", HOUR_S],
      ["behind", HOUR_S],
      ["seconds", many.length],
    ]);
    const others = await summaryOf(parts, -HOUR_S, 0, { principal: { ...PRINCIPAL, organizationId: "org_2" } });
    expect(others.total).toBe(2 * HOUR_S);
  });

  it("many at the same time → a few wait, the others get 503 with Retry-After", async () => {
    await using parts = await openServiceParts(await newStore());
    const handle = summarizeUsage(parts.context);
    const query = { by: "robot" } as const;
    const count = 1 + WAITING_SUMMARIES_MAXIMUM.own + 3;
    const answers = await Promise.all(Array.from({ length: count }, () => handle(parts.call({ body: null, query }))));
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.map((answer) => "headers" in answer && answer.headers?.["retry-after"])).toEqual(["5", "5", "5"]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(count - 3);
  });

  it("any periods → the sum of the periods", async () => {
    const entry = fc
      .tuple(fc.integer({ min: -20 * DAY_S, max: 0 }), fc.oneof(fc.nat(2 * HOUR_S), fc.nat(5 * DAY_S)))
      .map(([startS, lengthS]): Entry => ({ startS, endS: startS + lengthS + 1 }));
    const [entries = []] = fc.sample(fc.array(entry, { minLength: 1100, maxLength: 1100, size: "max" }), {
      numRuns: 1,
      seed: 7,
    });
    await using parts = await openServiceParts(await newStore());
    await withLedger(parts, entries);
    for (const [sinceS, untilS] of [
      [-20 * DAY_S, 0],
      [-5 * DAY_S - 7, -3 * DAY_S + 11],
      [-HOUR_S, -HOUR_S / 2],
    ] as const) {
      const expected = entries.reduce(
        (sum, { startS, endS }) => sum + Math.max(0, Math.min(endS, untilS) - Math.max(startS, sinceS)),
        0,
      );
      for (const by of USAGE_GROUPINGS) expect((await summaryOf(parts, sinceS, untilS, { by })).total).toBe(expected);
      const { items } = await summaryOf(parts, sinceS, untilS, { by: "day" });
      const days = items.map(({ day }) => Date.parse(`${day}T00:00:00Z`));
      const ofDay = (dayMs: number) => {
        const fromS = (dayMs - BEGIN_MS) / 1000;
        const parts = entries.map(
          ({ startS, endS }) => Math.min(endS, untilS, fromS + DAY_S) - Math.max(startS, sinceS, fromS),
        );
        return parts.reduce((sum, seconds) => sum + Math.max(0, seconds), 0);
      };
      expect(items.map(({ quantity }) => quantity)).toEqual(days.map(ofDay));
      expect(days).toEqual(days.toSorted((left, right) => left - right));
    }
  });

  it.each<[UsageGrouping, string[]]>([
    ["day", ["2026-03-01 5400", "2026-03-02 1860"]],
    ["robot", ["r1 3660", "r2 3600"]],
    ["model", ["pi 7260"]],
    ["day,robot", ["2026-03-01 r1 3600", "2026-03-01 r2 1800", "2026-03-02 r1 60", "2026-03-02 r2 1800"]],
    ["day,model", ["2026-03-01 pi 5400", "2026-03-02 pi 1860"]],
    ["robot,model", ["r1 pi 3660", "r2 pi 3600"]],
  ])("by %s → the parts of each day, also of a period that spans midnight or ends there", async (by, expected) => {
    await using parts = await openServiceParts(await newStore());
    const at = (time: string) => (Date.parse(`2026-03-${time}Z`) - BEGIN_MS) / 1000;
    await withLedger(parts, [
      { startS: at("01T23:00:00"), endS: at("02T00:00:00") },
      { startS: at("01T23:30:00"), endS: at("02T00:30:00"), robot_name: "r2" },
      { startS: at("02T08:00:00"), endS: at("02T08:01:00") },
    ]);
    const { items } = await summaryOf(parts, at("01T00:00:00"), at("03T00:00:00"), { by });
    expect(
      items.map((item) =>
        Object.values(item)
          .filter((part) => part !== null)
          .join(" "),
      ),
    ).toEqual(expected);
  });
});
