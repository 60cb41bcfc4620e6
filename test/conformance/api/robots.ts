import { describe, expect } from "vitest";

import { OTHER_REGION, REGION, ROBOT_TYPE } from "./catalog.ts";
import { createFleet } from "./fleets.ts";
import { register, setupOf } from "./registering.ts";
import type { Tests } from "./tests.ts";

/** Longer than any name, shorter than the longest request line. */
export const LONG = "x".repeat(2000);

export function robotsConformance({ target, it }: Tests): void {
  describe("robots", () => {
    it("setup again → replaces: id and created_at stay, omitted members are cleared", async ({ client }) => {
      const labels = { "": "", größe: "5 µm", "a.b/c": "🤖", 1: "one" };
      const [first] = await register(client, ["r1"], {
        robot_type_id: "another",
        region: OTHER_REGION,
        site: "lab",
        labels,
        contract: { deep: [1, { x: null }] },
      });
      expect(first).toMatchObject({ name: "r1", robot_type_id: "another", region: OTHER_REGION, site: "lab", labels });
      const [second] = await register(client, ["r1"]);
      expect(second).toEqual({ ...first, robot_type_id: ROBOT_TYPE, region: REGION, site: null, labels: {} });
      expect(await client.call("listRobots")).toEqual([second]);
    });

    it("concurrent setups with one name → one robot", async ({ client }) => {
      const views = await Promise.all(
        Array.from({ length: 12 }, (_, index) => register(client, ["r1"], { site: `s${index}` })),
      );
      expect(new Set(views.flat().map(({ id }) => id)).size).toBe(1);
      expect(new Set(views.flat().map(({ created_at: createdAt }) => createdAt)).size).toBe(1);
      expect(await client.call("listRobots")).toHaveLength(1);
    });

    it("setup with labels such as __proto__ → ordinary labels", async ({ client }) => {
      const labels = '{"__proto__":"a","constructor":"b","toString":"c"}';
      const body = `${JSON.stringify(setupOf("r1")).slice(0, -1)},"labels":${labels}}`;
      for (const view of [(await client.call("setupRobot", { body })).robot, ...(await client.call("listRobots"))]) {
        expect(JSON.stringify(view.labels)).toContain('"constructor":"b"');
        expect(JSON.stringify(view.labels)).toContain('"toString":"c"');
      }
      const answer = await fetch(`${client.nextUrl()}/v1/robots`, {
        headers: { authorization: `Bearer ${client.key}` },
      });
      expect(await answer.text()).toContain('"__proto__":"a"');
    });

    it("list → all robots, oldest first", async ({ client }) => {
      const robots = await register(client, ["c", "a", "b"]);
      await register(client, ["a"]);
      expect(await client.call("listRobots")).toEqual(robots);
    });

    it("get → by id, and by any name", async ({ client }) => {
      const names = ["plain", "with space", "größe", "a/b", "a%2Fb", "?x=1#y", "..", ".", "🤖", "a\nb", "setup "];
      for (const robot of await register(client, names)) {
        expect(await client.call("getRobot", { path: { robot: robot.id } })).toEqual({ ...robot, fleets: [] });
        // Clients resolve dot segments (RFC 3986, 5.2.4) before they send the request.
        if (/^\.+$/.test(robot.name)) continue;
        expect(await client.call("getRobot", { path: { robot: robot.name } }), robot.name).toEqual({
          ...robot,
          fleets: [],
        });
      }
    });

    it("get → its fleets by name, with their models, to those who may see fleets", async ({ client }) => {
      await register(client, ["r1", "r2"]);
      const selection = { robots: ["r1"] };
      const second = await createFleet(client, "sorting", { peak_active_robots: 1, selection });
      const first = await createFleet(client, "packing", { peak_active_robots: 1, selection });
      await createFleet(client, "other", { peak_active_robots: 1, selection: { robots: ["r2"] } });
      const gone = await createFleet(client, "gone", { peak_active_robots: 1, selection });
      await client.call("removeFleet", { path: { fleet_id: gone.id } });
      const fleets = [first, second].map(({ id, name, subject }) => ({ id, name, subject }));
      expect(await client.call("getRobot", { path: { robot: "r1" } })).toMatchObject({ fleets });
      const reader = await client.withKey({ scopes: ["robots:read"] });
      expect(await reader.call("getRobot", { path: { robot: "r1" } })).not.toHaveProperty("fleets");
    });

    it("get of a robot named setup → by id only, because its name is the path of setup", async ({ client }) => {
      const [robot] = await register(client, ["setup"]);
      expect(await client.call("getRobot", { path: { robot: robot?.id ?? "" } })).toEqual({ ...robot, fleets: [] });
      await client.refused("MethodNotAllowed", "getRobot", { path: { robot: "setup" } });
    });

    it("get, an id and a name are equal → the id takes precedence", async ({ client }) => {
      const [real] = await register(client, ["real"]);
      await register(client, [real?.id ?? ""]);
      expect(await client.call("getRobot", { path: { robot: real?.id ?? "" } })).toEqual({ ...real, fleets: [] });
    });

    it.each(["nobody", "rob_00000000000000000000000000", "", " ", LONG, "\u0000", "%", "ro\ud83eb"].map(shown))(
      "get %.40j → 404",
      async (_shown, robot) => {
        const client = await target().organization();
        const { status } = await client.send("getRobot", { path: { robot: robot.toWellFormed() } });
        expect(status).toBe(404);
      },
    );
  });
}

/** A text and its form in test titles. */
export function shown(text: string): readonly [shown: string, text: string] {
  return [JSON.stringify(text.slice(0, 40)), text];
}
