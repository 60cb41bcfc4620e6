import { describe, expect } from "vitest";

import { IDLE, OTHER_REGION, ROBOT_TYPE, WALKED, WARMING } from "./catalog.ts";
import { createFleet, untilFleet, updateFleet } from "./fleets.ts";
import { register } from "./registering.ts";
import type { Tests } from "./tests.ts";
import { soon } from "./waiting.ts";

export function readinessConformance({ target, it }: Tests): void {
  describe("readiness", () => {
    it("life of a fleet → ready, degraded and back, updated, blocked", async ({ client }) => {
      const { inference } = target();
      await register(client, ["r1"]);
      await register(client, ["r2"], { region: OTHER_REGION });
      const created = await createFleet(client, "f", { subject: WALKED.slug, peak_active_robots: 2 });
      await untilFleet(client, created, { status: "ready", robots: { ready: 2 } });

      inference.fail("walked-1-eu");
      await untilFleet(client, created, { status: "degraded", blocker: null, robots: { ready: 1, waiting: 1 } });
      inference.heal("walked-1-eu");
      const healed = await untilFleet(client, created, { status: "ready", robots: { ready: 2 } });
      const { update } = await updateFleet(client, created, WALKED.second);
      const updated = await untilFleet(client, created, { status: "ready", subject: WALKED.second, update: null });
      expect(updated.active_model?.generation_id).toBe(update?.generation_id);
      expect(updated.active_model?.generation_id).not.toBe(healed.active_model?.generation_id);

      await register(client, ["r1"], { robot_type_id: "wheelbarrow" });
      await untilFleet(client, created, { status: "degraded", robots: { ready: 1, blocked: 1 } });
      await register(client, ["r2"], { robot_type_id: "wheelbarrow", region: OTHER_REGION });
      const blocked = await untilFleet(client, created, { status: "blocked", robots: { blocked: 2 } });
      expect(blocked.blocker).toContain(ROBOT_TYPE);
    });

    it("on_demand, endpoint fails → ready while no robot is deployed, otherwise degraded", async ({ client }) => {
      const { inference } = target();
      await register(client, ["r1", "r2"]);
      const fleet = await createFleet(client, "f", { subject: IDLE.slug, readiness_mode: "on_demand" });
      await untilFleet(client, fleet, { status: "ready" });
      const { id } = await client.call("createDeployment", { body: { model: IDLE.slug, robot: "r1" } });
      await untilFleet(client, fleet, { status: "ready", robots: { active: 1 } });
      inference.fail(IDLE.endpoint);
      await untilFleet(client, fleet, { status: "degraded", robots: { active: 0 } });
      await client.call("retireDeployment", { path: { deployment_id: id } });
      await untilFleet(client, fleet, { status: "ready", robots: { ready: 0, waiting: 2 } });
      inference.heal(IDLE.endpoint);
    });

    it("endpoint fails at first → preparing until it recovers", async ({ client }) => {
      const { inference } = target();
      await register(client, ["r1", "r2"]);
      const fleet = await createFleet(client, "f", { subject: WARMING.slug, peak_active_robots: 2 });
      const before = inference.probes(WARMING.endpoint);
      await soon(async () => expect(inference.probes(WARMING.endpoint)).toBeGreaterThan(before + 1));
      await untilFleet(client, fleet, { status: "preparing", robots: { waiting: 2 } });
      inference.heal(WARMING.endpoint);
      await untilFleet(client, fleet, { status: "ready", robots: { ready: 2, waiting: 0 } });
    });
  });
}
