import { describe, expect } from "vitest";

import { DEAD, OTHER_REGION, STEADY } from "./catalog.ts";
import type { Client } from "./client.ts";
import { createFleet, createFleetOfBoth, fleetOf, readyFleet, untilFleet, updateFleet } from "./fleets.ts";
import { register, setupOf } from "./registering.ts";
import type { Tests } from "./tests.ts";
import type { FleetView } from "./views.ts";

/** Members of a fleet that are selected again when an operator asks. */
export function reconcileConformance({ it, itOnce }: Tests): void {
  const at = ({ id }: FleetView) => ({ path: { fleet_id: id } });
  const membersOf = async (client: Client, fleet: FleetView) =>
    (await client.call("getFleetDetails", at(fleet))).members.map(({ robot }) => robot);
  const reconciliations = async (client: Client) =>
    (await client.call("listAudit")).items.filter(({ action }) => action === "fleet.reconcile");
  const changesOf = async (client: Client, fleet: FleetView) => {
    const { joining, leaving, registered, peak_active_robots: peak } = await client.call("previewReconcile", at(fleet));
    return [joining.map(({ robot }) => robot), leaving.map(({ robot }) => robot), registered, peak];
  };
  const inLab = { selection: { selector: { site: "lab" } } };

  describe("reconciling fleets", () => {
    it("selector → robots that match join, others leave, once; a repeated request changes nothing", async ({
      client,
    }) => {
      await register(client, ["r1", "r2", "r3"], { site: "lab" });
      const fleet = await createFleet(client, "f", { ...inLab, peak_active_robots: 3 });
      await register(client, ["r4", "r5"], { site: "lab" });
      await register(client, ["r2"], { site: "elsewhere" });
      await client.call("removeRobot", { path: { robot: "r1" } });
      expect(await changesOf(client, fleet)).toEqual([["r4", "r5"], ["r1", "r2"], 3, 3]);
      expect(await membersOf(client, fleet)).toEqual(["r1", "r2", "r3"]);
      const reconciled = await client.call("reconcileFleet", at(fleet));
      expect(reconciled).toMatchObject({ id: fleet.id, peak_active_robots: 3, robots: { registered: 3, blocked: 0 } });
      expect(await membersOf(client, fleet)).toEqual(["r3", "r4", "r5"]);
      expect(await changesOf(client, fleet)).toEqual([[], [], 3, 3]);
      await client.call("reconcileFleet", at(fleet));
      expect(await reconciliations(client)).toMatchObject([
        { subject_id: fleet.id, subject_name: "f", details: { joined: 2, left: 2, peak_active_robots: 3 } },
      ]);
      await register(client, ["r6"], { site: "lab" });
      expect(await membersOf(client, fleet)).toEqual(["r3", "r4", "r5"]);
    });

    it("named robots, one removed → degraded with the command; reconciled → ready, its peak at most its members", async ({
      equipped: client,
    }) => {
      const fleet = await untilFleet(client, await createFleetOfBoth(client, "cell's"), { status: "ready" });
      await client.call("removeRobot", { path: { robot: "r1" } });
      await register(client, ["r1", "r3"]);
      const { needs } = await client.call("getFleetDetails", at(fleet));
      const action = String.raw`Take its members again: robot-policy fleets reconcile 'cell'\''s'.`;
      expect(needs).toEqual([{ reason: "1 of 2 robots was removed: r1.", action }]);
      expect(await changesOf(client, fleet)).toEqual([[], ["r1"], 1, 1]);
      expect(await client.call("reconcileFleet", at(fleet))).toMatchObject({
        status: "ready",
        peak_active_robots: 1,
        robots: { registered: 1, ready: 1 },
      });
      expect(await membersOf(client, fleet)).toEqual(["r2"]);
    });

    it("no robot is left → 409, the members stay", async ({ client }) => {
      await register(client, ["r1", "r2"], { site: "lab" });
      const named = await createFleet(client, "named");
      const selected = await createFleet(client, "selected", inLab);
      for (const robot of ["r1", "r2"]) await client.call("removeRobot", { path: { robot } });
      for (const [fleet, detail] of [
        [named, "All robots of this fleet were removed"],
        [selected, "No robot matches the selector"],
      ] as const) {
        for (const name of ["previewReconcile", "reconcileFleet"] as const) {
          expect(await client.refused("Conflict", name, at(fleet))).toContain(detail);
        }
        expect(await membersOf(client, fleet)).toEqual(["r1", "r2"]);
      }
    });

    it("while a model update runs → it goes on, judged by the new members", async ({ client }) => {
      await register(client, ["r1"], { site: "lab" });
      const fleet = await readyFleet(client, "f", inLab);
      const { update } = await updateFleet(client, fleet, DEAD.slug);
      await register(client, ["r2"], { site: "lab", region: OTHER_REGION });
      const reconciled = await client.call("reconcileFleet", at(fleet));
      expect(reconciled.update).toMatchObject({ generation_id: update?.generation_id, status: "blocked" });
      expect(reconciled.update?.blocker).toContain(`r2: ${DEAD.slug} has no endpoint`);
      expect(reconciled).toMatchObject({ subject: STEADY.slug, active_model: { status: "active" } });
      await client.call("removeRobot", { path: { robot: "r2" } });
      const { update: unblocked } = await client.call("reconcileFleet", at(fleet));
      expect(unblocked).toMatchObject({ generation_id: update?.generation_id, blocker: null });
    });

    it("concurrent requests, beside updates of the model → the members change once", async ({ client }) => {
      await register(client, ["r1"], { site: "lab" });
      const fleet = await createFleet(client, "f", inLab);
      await register(client, ["r2", "r3"], { site: "lab" });
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          index % 2 === 0
            ? client.send("reconcileFleet", at(fleet))
            : client.send("updateFleetModel", { ...at(fleet), body: { subject: STEADY.oldest } }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      expect(await membersOf(client, fleet)).toEqual(["r1", "r2", "r3"]);
      expect(await reconciliations(client)).toHaveLength(1);
      await untilFleet(client, fleet, { status: "ready", subject: STEADY.oldest, update: null });
    });

    itOnce("selector with a label __proto__ → still the robots that have it", async ({ client }) => {
      const withLabel = (body: object) => JSON.stringify(body).replace('"LABELS":0', '"__proto__":"x"');
      const setUp = (name: string) =>
        client.call("setupRobot", { body: withLabel(setupOf(name, { labels: { LABELS: 0 } })) });
      await setUp("r1");
      const selection = { selector: { labels: { LABELS: 0 } } };
      const fleet = await client.call("createFleet", { body: withLabel(fleetOf("f", { selection })) });
      await register(client, ["other"]);
      await setUp("r2");
      expect(await changesOf(client, fleet)).toEqual([["r2"], [], 2, 1]);
    });
  });
}
