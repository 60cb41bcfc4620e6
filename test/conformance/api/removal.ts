import { describe, expect } from "vitest";

import { STEADY } from "./catalog.ts";
import type { Client } from "./client.ts";
import { computerOf, enroll, poll, reasonOf, start } from "./enrolments/enrolling.ts";
import { createFleet, createFleetOfBoth, fleetOf } from "./fleets.ts";
import { register, setupOf } from "./registering.ts";
import type { Tests } from "./tests.ts";

export function removalConformance({ it, itOnce }: Tests): void {
  const at = (robot: string) => ({ path: { robot } });
  const namesOf = async (client: Client) => (await client.call("listRobots")).map(({ name }) => name);

  describe("removing robots", () => {
    it("remove → computer revoked, name free, only the history shows it", async ({ client }) => {
      const computer = await enroll(client);
      await client.as(computer.token).call("setupRobot", { body: setupOf("arm-1") });
      const { id } = await client.call("getRobot", at("arm-1"));
      await register(client, ["arm-2"]);
      const removed = await client.call("removeRobot", at("arm-1"));
      expect(removed.robot_id).toBe(id);
      expect((await computer.heartbeat()).status).toBe(401);
      expect(await (await computer.requestRenewal()).json()).toMatchObject({ reason: "proof_invalid" });
      expect(await namesOf(client)).toEqual(["arm-2"]);
      expect((await client.call("listRegistrations")).items.map(({ robot }) => robot)).toEqual(["arm-2"]);
      for (const robot of [id, "arm-1"]) {
        for (const name of ["getRobot", "getRegistration", "getInstallation", "removeRobot"] as const) {
          await client.refused("NotFound", name, at(robot));
        }
        await client.refused("NotFound", "renameRobot", { ...at(robot), body: { name: "arm-9" } });
        await client.invalid([["body", "robot"]], "createDeployment", { body: { model: STEADY.slug, robot } });
        await client.invalid([["body", "selection", "robots", 0]], "createFleet", {
          body: fleetOf("f", { selection: { robots: [robot] } }),
        });
      }
      expect((await client.call("getRobotHistory", at(id))).items).toHaveLength(1);
      await client.refused("NotFound", "getRobotHistory", at("arm-1"));
      expect((await client.call("listAudit")).items[0]).toMatchObject({
        action: "robot.remove",
        subject_id: id,
        subject_name: "arm-1",
        details: { name: "arm-1", installation_id: computer.installationId, deployment_id: null },
      });
    });

    it("removed name set up or enrolled again → a new robot", async ({ client }) => {
      const [first] = await register(client, ["arm-1"], { site: "plant-1", labels: { line: "4" } });
      await client.call("removeRobot", at("arm-1"));
      const [second] = await register(client, ["arm-1"]);
      expect(second?.id).not.toBe(first?.id);
      await client.call("removeRobot", at("arm-1"));
      await enroll(client);
      const third = await client.call("getRobot", at("arm-1"));
      expect([first?.id, second?.id]).not.toContain(third.id);
      expect(third).toMatchObject({ site: null, labels: {} });
      expect(await namesOf(client)).toEqual(["arm-1"]);
      // So does a computer whose robot was removed between approval and poll.
      const computer = computerOf(client);
      const started = await start(client, computer);
      await client.call("approveEnrolment", { body: { user_code: started.user_code } });
      await client.call("removeRobot", at(third.id));
      const polled = await poll(client, computer, started);
      expect(polled).toMatchObject({ status: "approved", robot: { name: "arm-1" } });
      expect(polled).not.toMatchObject({ robot: { id: third.id } });
    });

    it("remove → its deployment is retired; its fleets keep it as a blocked member with the reason", async ({
      equipped: client,
    }) => {
      const fleet = await createFleetOfBoth(client, "f");
      const deployment = await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r1" } });
      const { robot_id: robotId } = await client.call("removeRobot", at("r1"));
      const path = { deployment_id: deployment.id };
      expect(await client.call("getDeployment", { path })).toMatchObject({ status: "retired", robot: "r1" });
      const after = await client.call("getFleet", { path: { fleet_id: fleet.id } });
      expect(after.robots).toMatchObject({ registered: 2, blocked: 1 });
      const details = await client.call("getFleetDetails", { path: { fleet_id: fleet.id } });
      expect(details.members[0]).toMatchObject({
        robot_id: robotId,
        robot: "r1",
        state: "blocked",
        reason: "The robot was removed.",
      });
      expect(details.needs).toContainEqual({
        reason: "1 of 2 robots was removed: r1.",
        action: "Take its members again: robot-policy fleets reconcile f.",
      });
      await client.call("removeRobot", at("r2"));
      expect(await client.call("getFleet", { path: { fleet_id: fleet.id } })).toMatchObject({
        status: "blocked",
        blocker: "All robots of this fleet were removed. Delete the fleet, or create it again with other robots.",
      });
    });

    it("remove → selectors do not match it", async ({ client }) => {
      await register(client, ["arm-1"], { site: "plant-1", labels: { line: "4" } });
      await client.call("removeRobot", at("arm-1"));
      for (const selector of [{ site: "plant-1" }, { labels: { line: "4" } }]) {
        await client.invalid([["body", "selector"]], "previewFleet", { body: { selector } });
      }
    });

    it("concurrent removals → one succeeds", async ({ client }) => {
      await register(client, ["arm-1"]);
      const answers = await Promise.all(Array.from({ length: 6 }, () => client.send("removeRobot", at("arm-1"))));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404, 404, 404]);
    });
  });

  it("remove, rename with a robot's own credential → 403", async ({ client }) => {
    const computer = client.as((await enroll(client)).token);
    expect(await reasonOf(computer, "removeRobot", at("arm-1"))).toEqual([403, "scope"]);
    expect(await reasonOf(computer, "renameRobot", { ...at("arm-1"), body: { name: "b" } })).toEqual([403, "scope"]);
  });

  describe("renaming robots", () => {
    it("rename → id, computer and fleets stay; the computer registers with the new name", async ({ client }) => {
      const computer = await enroll(client);
      const before = await client.call("getRobot", at("arm-1"));
      await client.as(computer.token).call("setupRobot", { body: setupOf("arm-1") });
      const fleet = await createFleet(client, "f", { selection: { robots: ["arm-1"] } });
      const renamed = await client.call("renameRobot", { ...at("arm-1"), body: { name: " Arm-9 " } });
      expect(renamed).toMatchObject({ id: before.id, name: "arm-9", installation_id: computer.installationId });
      expect(await namesOf(client)).toEqual(["arm-9"]);
      await client.refused("NotFound", "getRobot", at("arm-1"));
      const details = await client.call("getFleetDetails", { path: { fleet_id: fleet.id } });
      expect(details.members).toMatchObject([{ robot_id: before.id, robot: "arm-9" }]);
      const own = client.as(computer.token);
      expect(await reasonOf(own, "setupRobot", { body: setupOf("arm-1") })).toEqual([403, "scope"]);
      expect((await own.call("setupRobot", { body: setupOf("arm-9") })).robot.id).toBe(before.id);
      expect((await client.call("listAudit")).items[0]).toMatchObject({
        action: "robot.rename",
        subject_id: before.id,
        details: { from: "arm-1", to: "arm-9" },
      });
      // The old name can be used again.
      await register(client, ["arm-1"]);
      expect(await namesOf(client)).toEqual(["arm-9", "arm-1"]);
    });

    it("rename to the name of another robot → 409; to its own → no change", async ({ equipped: client }) => {
      await client.refused("Conflict", "renameRobot", { ...at("r1"), body: { name: "r2" } });
      const same = await client.call("renameRobot", { ...at("r1"), body: { name: "r1" } });
      expect(same.name).toBe("r1");
      await client.call("removeRobot", at("r2"));
      await client.call("renameRobot", { ...at("r1"), body: { name: "r2" } });
      expect(await namesOf(client)).toEqual(["r2"]);
    });

    it("concurrent renames and setups with one name → one robot has it", async ({ client }) => {
      await register(client, ["r1", "r2", "r3"]);
      const answers = await Promise.all([
        ...["r1", "r2", "r3"].map((robot) => client.send("renameRobot", { ...at(robot), body: { name: "arm" } })),
        ...[1, 2].map(() => client.send("setupRobot", { body: setupOf("arm") })),
      ]);
      const statuses = answers.slice(0, 3).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
      expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
      const names = await namesOf(client);
      expect(names.filter((name) => name === "arm")).toHaveLength(1);
    });

    itOnce.for(["", "-a", "a-", "a b", "ä", "a".repeat(65), "a.b"])("rename to %j → 422", async (name, { client }) => {
      await register(client, ["r1"]);
      await client.invalid([["body", "name"]], "renameRobot", { ...at("r1"), body: { name } });
    });
  });

  describe("deleting fleets", () => {
    it("delete → name free, robots and deployments stay, only the audit log shows it", async ({ equipped: client }) => {
      const fleet = await createFleet(client, "f");
      const path = { fleet_id: fleet.id };
      await client.call("updateFleetModel", { path, body: { subject: STEADY.oldest } });
      const deployment = await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r1" } });
      expect((await client.call("removeFleet", { path })).fleet_id).toBe(fleet.id);
      for (const name of ["getFleet", "getFleetDetails", "removeFleet"] as const) {
        await client.refused("NotFound", name, { path });
      }
      await client.refused("NotFound", "updateFleetModel", { path, body: { subject: STEADY.slug } });
      expect([await client.call("listFleets"), (await client.call("listFleetNeeds")).items]).toEqual([[], []]);
      expect(await namesOf(client)).toEqual(["r1", "r2"]);
      const kept = await client.call("getDeployment", { path: { deployment_id: deployment.id } });
      expect(kept.retired_at).toBeNull();
      expect((await client.call("listAudit")).items[0]).toMatchObject({
        action: "fleet.remove",
        subject_id: fleet.id,
        subject_name: "f",
      });
      const again = await createFleet(client, "f");
      expect(again.id).not.toBe(fleet.id);
    });
  });
}
