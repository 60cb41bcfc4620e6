import { describe, expect } from "vitest";

import { COLD, DEAD, PICKY, ROBOT_TYPE, STEADY } from "./catalog.ts";
import { createFleet, createFleetOfBoth, fleetOf, readyFleet, untilFleet, updateFleet, windowOf } from "./fleets.ts";
import { register } from "./registering.ts";
import type { Tests } from "./tests.ts";

/** Status, robots and updates of a fleet. */
export function fleetStatesConformance({ it }: Tests): void {
  describe("states of fleets", () => {
    it("snapshot membership → the robots that matched at the creation", async ({ client }) => {
      await register(client, ["r1", "r2"], { site: "lab" });
      const fleet = await createFleet(client, "f", { peak_active_robots: 2, selection: { selector: { site: "lab" } } });
      await register(client, ["r3"], { site: "lab" });
      await register(client, ["r1"], { site: "elsewhere", labels: { moved: "yes" } });
      expect(await untilFleet(client, fleet, { status: "ready" })).toMatchObject({
        robots: { registered: 2, ready: 2 },
      });
    });

    it("no robot meets the requirements → blocked, with the reason; they change → ready", async ({ client }) => {
      await register(client, ["r1", "r2"], { robot_type_id: "wheelbarrow" });
      const fleet = await createFleetOfBoth(client, "f", { subject: PICKY.slug });
      expect(fleet).toMatchObject({ status: "blocked", robots: { blocked: 2 }, active_model: { status: "blocked" } });
      expect(fleet.blocker).toContain(ROBOT_TYPE);
      await register(client, ["r1", "r2"]);
      await untilFleet(client, fleet, { status: "ready", blocker: null, robots: { ready: 2, blocked: 0 } });
    });

    it("scheduled, outside its windows → preparing, with an estimate", async ({ equipped: client }) => {
      const body = fleetOf("f", { readiness_mode: "scheduled", operating_windows: [windowOf(5, 6)] });
      const { status, robots, readiness_estimate: readinessEstimate } = await client.call("createFleet", { body });
      expect([status, robots]).toEqual(["preparing", { registered: 2, ready: 0, active: 0, waiting: 2, blocked: 0 }]);
      if (readinessEstimate !== null) {
        expect(readinessEstimate.lower_seconds).toBeGreaterThan(4.9 * 3600);
        expect(readinessEstimate.lower_seconds).toBeLessThanOrEqual(5 * 3600);
      }
    });

    it("scheduled, within a window → ready", async ({ equipped: client }) => {
      const operatingWindows = [windowOf(-2, -1), windowOf(-0.5, 1)];
      const body = fleetOf("f", { readiness_mode: "scheduled", operating_windows: operatingWindows });
      await untilFleet(client, await client.call("createFleet", { body }), { status: "ready" });
    });

    it("robot deployed → active; beyond peak_active_robots → waiting", async ({ equipped: client }) => {
      const fleet = await createFleet(client, "f");
      await untilFleet(client, fleet, { status: "ready", robots: { registered: 2, active: 0, ready: 1, waiting: 1 } });
      const deployment = await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r1" } });
      await untilFleet(client, fleet, { robots: { registered: 2, active: 1, ready: 0, waiting: 1 } });
      await client.call("retireDeployment", { path: { deployment_id: deployment.id } });
      await untilFleet(client, fleet, { robots: { registered: 2, active: 0, ready: 1, waiting: 1 } });
    });

    it("model update → takes effect once its endpoints are healthy", async ({ equipped: client }) => {
      const created = await createFleet(client, "f", { subject: STEADY.oldest });
      const before = await untilFleet(client, created, { status: "ready" });
      const path = { fleet_id: before.id };
      const requested = await client.call("updateFleetModel", { path, body: { subject: STEADY.slug, more: 1 } });
      expect(requested).toMatchObject({
        active_model: before.active_model,
        update: { subject: STEADY.slug, blocker: null },
      });
      const after = await untilFleet(client, before, { status: "ready", subject: STEADY.slug, update: null });
      expect(after.active_model).toEqual({
        subject: STEADY.slug,
        generation_id: requested.update?.generation_id,
        status: "active",
      });
    });

    it("update whose endpoint fails → preparing, the old model stays active", async ({ equipped: client }) => {
      const before = await readyFleet(client, "f");
      const { update } = await updateFleet(client, before, DEAD.slug);
      const later = await untilFleet(client, before, { update: { ...update, status: "preparing" } });
      expect(later).toMatchObject({ status: "ready", active_model: before.active_model, robots: before.robots });
    });

    it("update that would block a robot → blocked, with the reason", async ({ client }) => {
      await register(client, ["r1", "r2"], { robot_type_id: "wheelbarrow" });
      const before = await readyFleet(client, "f");
      const path = { fleet_id: before.id };
      const { update } = await updateFleet(client, before, PICKY.slug);
      expect(update).toMatchObject({ status: "blocked", blocker: expect.stringContaining(ROBOT_TYPE) });
      expect(await client.call("getFleet", { path })).toMatchObject({ status: "ready", blocker: null });
    });

    it("newer update → replaces the pending one; to the active model → cancels it", async ({ equipped: client }) => {
      const before = await readyFleet(client, "f");
      const first = await updateFleet(client, before, DEAD.slug);
      const again = await updateFleet(client, before, DEAD.slug);
      expect(again.update?.generation_id).toBe(first.update?.generation_id);
      const second = await updateFleet(client, before, COLD.slug);
      expect(second.update).toMatchObject({ subject: COLD.slug });
      expect(second.update?.generation_id).not.toBe(first.update?.generation_id);
      const back = await updateFleet(client, before, STEADY.slug);
      expect(back).toMatchObject({ active_model: before.active_model, update: null });
    });

    it("update to the active subject, by slug or checkpoint → no update", async ({ equipped: client }) => {
      const before = await readyFleet(client, "f");
      for (const subject of [STEADY.slug, STEADY.newest]) {
        const { active_model: activeModel, update } = await client.call("updateFleetModel", {
          path: { fleet_id: before.id },
          body: { subject },
        });
        expect([activeModel?.generation_id, update]).toEqual([before.active_model?.generation_id, null]);
      }
    });

    it("update → checks the body, then the fleet, then the subject", async ({ equipped: client }) => {
      const { id } = await createFleet(client, "f");
      const unknown = { fleet_id: "fleet_00000000000000000000000000" };
      const subject = [["body", "subject"]];
      await client.invalid(subject, "updateFleetModel", { path: unknown, body: {} });
      await client.refused("NotFound", "updateFleetModel", { path: unknown, body: { subject: "no-such-model" } });
      await client.invalid(subject, "updateFleetModel", { path: { fleet_id: id }, body: { subject: "no-such-model" } });
      await client.invalid(subject, "updateFleetModel", { path: { fleet_id: id }, body: { subject: "" } });
    });
  });
}
