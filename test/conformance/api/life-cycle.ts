import { describe, expect } from "vitest";

import { comeOnline, computerOf, enroll, poll, reasonOf, start } from "./enrolments/enrolling.ts";
import { register, setupOf } from "./registering.ts";
import type { Tests } from "./tests.ts";

const NAMES = ["arm-1", "arm-2", "arm-3"];

export function lifeCycleConformance({ it }: Tests): void {
  describe("life cycle of robots", () => {
    it("heartbeat → online in the list, the view and the answer to its setup", async ({ client }) => {
      const [never] = await register(client, ["arm-0"]);
      const unmonitored = { status: "offline", presence: "not_monitored", installation_id: null, last_seen_at: null };
      expect(never).toMatchObject(unmonitored);
      const computer = await enroll(client);
      const { installationId } = computer;
      const { fleets, ...silent } = await client.call("getRobot", { path: { robot: "arm-1" } });
      expect(silent).toMatchObject({ status: "offline", installation_id: installationId, last_seen_at: null });
      await comeOnline(client, computer);
      const { last_seen_at: lastSeen } = await client.call("getInstallation", { path: { robot: "arm-1" } });
      const online = { ...silent, status: "online", presence: "online", last_seen_at: lastSeen };
      expect(await client.call("getRobot", { path: { robot: silent.id } })).toEqual({ ...online, fleets });
      expect(await client.call("listRobots")).toEqual([never, online]);
      expect(await client.as(computer.token).call("getRobot", { path: { robot: "arm-1" } })).toEqual(online);
    });

    it("list by status with a limit → filtered, then paged", async ({ client }) => {
      await register(client, ["arm-0", "arm-4"]);
      for (const name of NAMES) {
        await comeOnline(client, await enroll(client, { requested_name: name }), name);
      }
      const namesOf = async (query: Readonly<Record<string, string>>) =>
        (await client.call("listRobots", { query })).map(({ name }) => name);
      expect(await namesOf({ status: "online" })).toEqual(NAMES);
      expect(await namesOf({ status: "offline" })).toEqual(["arm-0", "arm-4"]);
      expect(await namesOf({ status: "online", limit: "2" })).toEqual(NAMES.slice(0, 2));
      const { headers } = await client.send("listRobots", { query: { status: "online", limit: "2" } });
      const next = /<\/v1\/robots\?(.*)>/.exec(headers.get("link") ?? "")?.[1];
      expect(await namesOf(Object.fromEntries(new URLSearchParams(next)))).toEqual(NAMES.slice(2));
      await client.invalid([["query", "status"]], "listRobots", { query: { status: "lost" } });
    });

    it("setup with an API key of an enrolled robot → its computer is revoked, the robot stays", async ({ client }) => {
      const computer = await enroll(client);
      const { fleets: _fleets, ...before } = await client.call("getRobot", { path: { robot: "arm-1" } });
      const [after] = await register(client, ["arm-1"], { region: before.region, robot_type_id: "another" });
      const unmonitored = { installation_id: null, presence: "not_monitored" };
      expect(after).toEqual({ ...before, ...unmonitored, robot_type_id: "another" });
      expect((await computer.heartbeat()).status).toBe(401);
      expect(await (await computer.requestRenewal()).json()).toMatchObject({ reason: "proof_invalid" });
      const { items } = await client.call("listAudit");
      expect(items[0]).toMatchObject({
        action: "robot.replace_computer",
        subject_id: before.id,
        details: { replaced_installation_id: computer.installationId, robot_type_id: "another" },
      });
      const history = await client.call("getRobotHistory", { path: { robot: "arm-1" } });
      expect(history.items.map(({ changed }) => changed)).toEqual([null]);
      // From then on, it is an ordinary robot.
      await register(client, ["arm-1"]);
    });

    it("setup of an online enrolled robot → only with confirm_replace", async ({ client }) => {
      const computer = await enroll(client);
      await comeOnline(client, computer);
      const body = setupOf("arm-1", { site: "elsewhere" });
      for (const members of [{}, { confirm_replace: false }, { confirm_replace: null }]) {
        expect(await reasonOf(client, "setupRobot", { body: { ...body, ...members } })).toEqual([409, "robot_online"]);
      }
      expect(await client.call("getRobot", { path: { robot: "arm-1" } })).toMatchObject({
        site: null,
        status: "online",
      });
      const { robot } = await client.call("setupRobot", { body: { ...body, confirm_replace: true } });
      expect(robot).toMatchObject({ site: "elsewhere", status: "offline", installation_id: null, last_seen_at: null });
      expect((await computer.heartbeat()).status).toBe(401);
      await client.invalid([["body", "confirm_replace"]], "setupRobot", { body: { ...body, confirm_replace: 2 } });
    });

    it("setup of an enrolled robot with robots:setup only → 403; by the robot itself → revokes nothing", async ({
      client,
    }) => {
      const computer = await enroll(client);
      const setupOnly = await client.withKey({ scopes: ["robots:setup"] });
      const body = { ...setupOf("arm-1"), confirm_replace: true };
      expect(await reasonOf(setupOnly, "setupRobot", { body })).toEqual([403, "scope"]);
      const { robot } = await client.as(computer.token).call("setupRobot", { body });
      expect(robot).toMatchObject({ name: "arm-1", installation_id: computer.installationId });
      expect((await computer.heartbeat()).status).toBe(200);
      await register(setupOnly, ["arm-2"]);
      for (const name of ["arm-2", "arm-0"]) {
        expect(await reasonOf(client.as(computer.token), "setupRobot", { body: setupOf(name) })).toEqual([
          403,
          "scope",
        ]);
      }
    });

    it("concurrent setups and enrolments of one name → at most one computer works", async ({ client }) => {
      const computers = await Promise.all(
        [computerOf(client), computerOf(client)].map(async (computer) => {
          const started = await start(client, computer);
          await client.call("approveEnrolment", { body: { user_code: started.user_code, confirm_replace: true } });
          return { computer, started };
        }),
      );
      await Promise.all([
        ...computers.map(({ computer, started }) => poll(client, computer, started)),
        ...Array.from({ length: 6 }, () => client.send("setupRobot", { body: setupOf("arm-1") })),
      ]);
      const statuses = await Promise.all(computers.map(async ({ computer }) => (await computer.heartbeat()).status));
      const { installation_id: live } = await client.call("getRobot", { path: { robot: "arm-1" } });
      const working = computers.filter((_, index) => statuses[index] === 200);
      expect(working.map(({ computer }) => computer.installationId)).toEqual(live === null ? [] : [live]);
    });
  });
}
