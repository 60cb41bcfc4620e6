import { describe, expect } from "vitest";

import { OTHER_REGION, ROBOT_TYPE, STEADY } from "./catalog.ts";
import type { Client } from "./client.ts";
import { enroll, reasonOf } from "./enrolments/enrolling.ts";
import { createFleet, fleetOf, readyFleet, untilFleet, updateFleet } from "./fleets.ts";
import { register, setupOf } from "./registering.ts";
import type { Tests } from "./tests.ts";
import type { FleetView } from "./views.ts";
import { soon } from "./waiting.ts";

const PLANT = { selection: { selector: { site: "plant-1" }, membership: "follow" } };
const AT_PLANT = { site: "plant-1" };

const detailsOf = (client: Client, { id }: FleetView) => client.call("getFleetDetails", { path: { fleet_id: id } });

/** Waits until the fleet has exactly these members. */
function untilMembers(client: Client, fleet: FleetView, names: readonly string[]) {
  return soon(async () => {
    const details = await detailsOf(client, fleet);
    expect(details.members.map(({ robot }) => robot).toSorted()).toEqual(names);
    return details;
  });
}

/** Changes of the members, oldest first: `r1 joined: …`. */
async function changesOf(client: Client, fleet: FleetView): Promise<string[]> {
  const { membership_changes: changes = [] } = await detailsOf(client, fleet);
  return changes.map(({ robot, change, reason }) => `${robot} ${change}: ${reason}`).toReversed();
}

export function followingConformance({ it, itOnce }: Tests): void {
  describe("fleets that follow their selectors", () => {
    it("robots start to match, stop to match, or are removed → join and leave", async ({ client }) => {
      await register(client, ["r1"], AT_PLANT);
      await register(client, ["r2"]);
      const fleet = await readyFleet(client, "f", PLANT);
      expect(fleet.robots.registered).toBe(1);
      const [third] = await register(client, ["r3"], AT_PLANT);
      await untilMembers(client, fleet, ["r1", "r3"]);
      await register(client, ["r2"], AT_PLANT);
      await untilMembers(client, fleet, ["r1", "r2", "r3"]);
      await register(client, ["r1"], { site: "plant-2" });
      await untilMembers(client, fleet, ["r2", "r3"]);
      await client.call("removeRobot", { path: { robot: "r3" } });
      const details = await untilMembers(client, fleet, ["r2"]);
      expect(await changesOf(client, fleet)).toEqual([
        "r3 joined: it matches the selector",
        "r2 joined: it matches the selector",
        "r1 left: its site is plant-2",
        "r3 left: it was removed",
      ]);
      // The model and its generation stay.
      expect(details.generations.map(({ generation_id: id }) => id)).toEqual([fleet.active_model?.generation_id]);
      expect(details).toMatchObject({ updated_at: null, selection: { kind: "selector", membership: "follow" } });
      const { items } = await client.call("listAudit");
      const removal = items.find(({ action }) => action === "robot.remove");
      expect(items[0]).toMatchObject({
        action: "fleet.leave",
        subject_id: fleet.id,
        subject_name: "f",
        actor: removal?.actor,
        request_id: removal?.request_id,
        details: { robot_id: third?.id, robot: "r3", reason: "it was removed" },
      });
    });

    it("enrolment → joins; renamed, or computer replaced → stays", async ({ client }) => {
      const fleet = await createFleet(client, "f", {
        selection: { selector: { region: "us-west-2" }, membership: "follow" },
      });
      await enroll(client);
      await untilMembers(client, fleet, ["arm-1"]);
      await client.call("renameRobot", { path: { robot: "arm-1" }, body: { name: "arm-9" } });
      await register(client, ["arm-9"], { confirm_replace: true });
      await register(client, ["last"]);
      await untilMembers(client, fleet, ["arm-9", "last"]);
      expect(await changesOf(client, fleet)).toHaveLength(2);
    });

    it("selector → every filter and label must match", async ({ client }) => {
      const selector = { region: OTHER_REGION, robot_type_id: ROBOT_TYPE, labels: { line: "4", stage: "prod" } };
      const fleet = await createFleet(client, "f", { selection: { selector, membership: "follow" } });
      const fits = { region: OTHER_REGION, labels: { line: "4", stage: "prod", more: "x" } };
      await register(client, ["r1", "r2", "r3", "r4", "r5"], fits);
      await untilMembers(client, fleet, ["r1", "r2", "r3", "r4", "r5"]);
      await register(client, ["r1"], { ...fits, region: "us-west-2" });
      await register(client, ["r2"], { ...fits, robot_type_id: "arm" });
      await register(client, ["r3"], { ...fits, labels: { line: "4" } });
      await register(client, ["r4"], { ...fits, labels: { line: "4", stage: "dev" } });
      await untilMembers(client, fleet, ["r5"]);
      // One check records its findings in the order of registration, which was concurrent.
      expect((await changesOf(client, fleet)).slice(5).toSorted()).toEqual([
        "r1 left: its region is us-west-2",
        "r2 left: its type is arm",
        "r3 left: it has no label stage",
        "r4 left: its label stage is dev",
      ]);
    });

    it("no robot matches → blocked with the reason; robots join → ready", async ({ client }) => {
      const fleet = await createFleet(client, "f", { ...PLANT, peak_active_robots: 1000 });
      expect(fleet).toMatchObject({
        status: "blocked",
        blocker: "No robot matches the selector of this fleet. Set up robots that match it, or delete the fleet.",
        robots: { registered: 0 },
      });
      const change = (membership: string) =>
        client.call("changeFleet", { path: { fleet_id: fleet.id }, body: { membership } });
      expect(await change("snapshot")).toMatchObject({
        blocker: "This fleet has no robots. Have it follow its selector, or delete it.",
      });
      await change("follow");
      const preview = await client.call("previewFleet", { body: { ...PLANT.selection, subject: STEADY.slug } });
      expect(preview).toEqual({ total: 0, robots: [] });
      await updateFleet(client, fleet, STEADY.oldest);
      await register(client, ["r1"], AT_PLANT);
      await register(client, ["r2"], { ...AT_PLANT, region: OTHER_REGION });
      await untilFleet(client, fleet, { status: "ready", subject: STEADY.oldest, robots: { registered: 2, ready: 2 } });
    });

    it("joining robot cannot run the model → degraded, the reason names it; other robots are unaffected", async ({
      client,
    }) => {
      await register(client, ["r1"], AT_PLANT);
      const fleet = await readyFleet(client, "f", PLANT);
      const deployment = await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r1" } });
      await register(client, ["r2"], { ...AT_PLANT, region: "nowhere-1" });
      await untilFleet(client, fleet, { status: "degraded", robots: { active: 1, blocked: 1 } });
      const [need] = (await detailsOf(client, fleet)).needs;
      expect(need?.reason).toMatch(/^1 of 2 robots cannot run pi0.5: r2: /);
      await register(client, ["r1"], { site: "plant-2" });
      const blocked = await untilFleet(client, fleet, { status: "blocked", robots: { registered: 1 } });
      expect(blocked.blocker).toMatch(/^No robot of this fleet can run pi0.5: r2: /);
      // Robots that leave keep their deployments.
      const path = { deployment_id: deployment.id };
      expect(await client.call("getDeployment", { path })).toMatchObject({ retired_at: null });
    });

    it("membership changed to follow → follows; to snapshot → stops", async ({ client }) => {
      await register(client, ["r1", "r2"], AT_PLANT);
      const fleet = await createFleet(client, "f", { selection: { selector: AT_PLANT } });
      // The members of a following fleet show when earlier registrations were processed.
      const other = await createFleet(client, "g", PLANT);
      await register(client, ["r3"], AT_PLANT);
      await register(client, ["r1"], { site: "plant-2" });
      await untilMembers(client, other, ["r2", "r3"]);
      const fixed = await detailsOf(client, fleet);
      expect(fixed.members).toHaveLength(2);
      expect([fixed.membership_changes, "membership" in fixed.selection]).toEqual([undefined, false]);
      const change = (membership: string) =>
        client.call("changeFleet", { path: { fleet_id: fleet.id }, body: { membership } });
      expect(await change("follow")).toMatchObject({ id: fleet.id, robots: { registered: 2 } });
      await untilMembers(client, fleet, ["r2", "r3"]);
      await change("follow");
      await change("snapshot");
      const stopped = await change("snapshot");
      expect(stopped.robots.registered).toBe(2);
      await register(client, ["r4"], AT_PLANT);
      await client.call("removeRobot", { path: { robot: "r2" } });
      await untilMembers(client, other, ["r3", "r4"]);
      expect((await detailsOf(client, fleet)).members).toMatchObject([
        { robot: "r2", state: "blocked" },
        { robot: "r3" },
      ]);
      expect(await changesOf(client, fleet)).toEqual([
        "r1 left: its site is plant-2",
        "r3 joined: it matches the selector",
      ]);
      const { items } = await client.call("listAudit");
      const changes = items.filter(({ action }) => action === "fleet.change");
      expect(changes.map(({ details }) => details)).toEqual([{ membership: "snapshot" }, { membership: "follow" }]);
    });

    it("concurrent setups, changes and removals → each fleet has the robots that match", async ({ client }) => {
      const names = Array.from({ length: 12 }, (_, index) => `r${index + 10}`);
      await register(client, names.slice(0, 4), AT_PLANT);
      const [first] = await Promise.all([
        createFleet(client, "f", PLANT),
        ...names.slice(4).map((name) => client.call("setupRobot", { body: setupOf(name, AT_PLANT) })),
      ]);
      const [second] = await Promise.all([
        createFleet(client, "g", { selection: { selector: { labels: { line: "4" } }, membership: "follow" } }),
        updateFleet(client, first, STEADY.oldest),
        ...names
          .slice(0, 6)
          .flatMap((name) => [
            client.call("setupRobot", { body: setupOf(name, { site: "plant-2" }) }),
            client.call("setupRobot", { body: setupOf(name, { ...AT_PLANT, labels: { line: "4" } }) }),
          ]),
        ...names.slice(9).map((robot) => client.call("removeRobot", { path: { robot } })),
      ]);
      const views = (await client.call("listRobots")).map(({ name, site, labels }) => ({ name, site, labels }));
      const namesOf = (robots: typeof views) => robots.map(({ name }) => name).toSorted();
      await untilMembers(client, first, namesOf(views.filter(({ site }) => site === "plant-1")));
      await untilMembers(client, second, namesOf(views.filter(({ labels }) => labels["line"] === "4")));
      // Joins and leaves of each robot alternate, whichever replica made them.
      for (const fleet of [first, second]) {
        const moves = (await changesOf(client, fleet)).map((move) => move.split(":")[0]?.split(" ") ?? []);
        for (const [name, own] of Map.groupBy(moves, ([robot]) => robot)) {
          const changes = own.map(([, change]) => change);
          for (const [index, change] of changes.entries()) expect(change, name).not.toBe(changes[index + 1]);
        }
      }
      await client.call("removeFleet", { path: { fleet_id: first.id } });
      await register(client, ["late"], { ...AT_PLANT, labels: { line: "4" } });
      await soon(async () => expect((await detailsOf(client, second)).members.at(-1)?.robot).toBe("late"));
    });

    it("follow without a selector → 422", async ({ equipped: client }) => {
      const selection = { robots: ["r1"], membership: "follow" };
      const at = [["body", "selection", "membership"]];
      await client.invalid(at, "createFleet", { body: fleetOf("f", { selection }) });
      await client.invalid([["body", "membership"]], "previewFleet", { body: selection });
      const { id } = await createFleet(client, "f");
      const path = { fleet_id: id };
      await client.invalid([["body", "membership"]], "changeFleet", { path, body: { membership: "follow" } });
      await client.call("changeFleet", { path, body: { membership: "snapshot" } });
      await client.refused("NotFound", "changeFleet", {
        path: { fleet_id: "fleet_00000000000000000000000000" },
        body: { membership: "follow" },
      });
    });

    itOnce(
      "change → needs fleets:write and a valid membership; peak_active_robots is limited to 1000",
      async ({ client }) => {
        const fleet = await createFleet(client, "f", PLANT);
        const path = { fleet_id: fleet.id };
        await client.invalid([["body", "membership"]], "changeFleet", { path, body: { membership: "live" } });
        await client.invalid([["body", "name"]], "changeFleet", { path, body: { membership: "follow", name: "g" } });
        const reader = await client.withKey({ scopes: ["fleets:read"] });
        expect(await reasonOf(reader, "changeFleet", { path, body: { membership: "snapshot" } })).toEqual([
          403,
          "scope",
        ]);
        const body = fleetOf("g", { ...PLANT, peak_active_robots: 1001 });
        const [message] = await client.invalid([["body", "peak_active_robots"]], "createFleet", { body });
        expect(message).toContain("cannot be more than 1000, the most robots that a fleet may have");
      },
    );
  });
}
