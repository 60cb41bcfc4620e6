import { describe, expect } from "vitest";

import { DEAD, STEADY } from "./catalog.ts";
import { untilDeployment } from "./deployments.ts";
import { register } from "./registering.ts";
import type { Tests } from "./tests.ts";
import { soon } from "./waiting.ts";

export function usageConformance({ target, it }: Tests): void {
  describe("usage", () => {
    it("new organization → no usage", async () => {
      expect(await (await target().organization()).call("listUsage")).toEqual({ items: [] });
    });

    it("active deployment → metered in seconds until it is retired", async ({ client }) => {
      await register(client, ["r1"]);
      const deployment = await client.call("createDeployment", { body: { model: STEADY.oldest, robot: "r1" } });
      const active = await untilDeployment(client, deployment, { status: "active" });
      const total = async () =>
        (await client.call("listUsage")).items.reduce((sum, { quantity }) => sum + (quantity ?? 0), 0);
      await soon(async () => expect(await total()).toBeGreaterThanOrEqual(2));
      const { retired_at: retiredAt } = await client.call("retireDeployment", {
        path: { deployment_id: deployment.id },
      });
      const { items } = await client.call("listUsage");
      for (const item of items) {
        expect(item).toMatchObject({ deployment_id: deployment.id, robot: "r1", model_slug: STEADY.slug });
      }
      // Periods are contiguous from activation to retirement; an hour may have ended in between.
      expect(items.map(({ period_start: periodStart }) => periodStart)).toEqual([
        secondOf(active.activated_at),
        ...items.slice(0, -1).map(({ period_end: periodEnd }) => periodEnd),
      ]);
      expect(items.at(-1)?.period_end).toBe(secondOf(retiredAt));
      const [from, to] = [Date.parse(secondOf(active.activated_at)), Date.parse(secondOf(retiredAt))];
      expect(await total()).toBe((to - from) / 1000);
      expect(await client.call("listUsage")).toEqual({ items });
      const summary = await client.call("summarizeUsage", { query: { by: "robot,model" } });
      const sum = { day: null, robot: "r1", model_slug: STEADY.slug, quantity: (to - from) / 1000 };
      expect(summary).toMatchObject({ total: sum.quantity, items: [sum] });
      const stranger = await target().organization();
      expect(await stranger.call("summarizeUsage")).toMatchObject({ total: 0, items: [] });
    });

    it("deployment that is never active → not metered", async ({ client }) => {
      await register(client, ["r1"]);
      const body = { model: DEAD.slug, robot: "r1" };
      const { id } = await client.call("createDeployment", { body });
      await client.call("retireDeployment", { path: { deployment_id: id } });
      expect(await client.call("listUsage")).toEqual({ items: [] });
    });
  });
}

/** The time, rounded down to a second. */
function secondOf(time: string | null): string {
  return (time ?? "").replace(/\.\d{3}Z$/, ".000Z");
}
