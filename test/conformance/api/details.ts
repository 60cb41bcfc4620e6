import { isIP } from "node:net";

import { describe, expect } from "vitest";

import { OTHER_REGION, REGION, ROBOT_TYPE, STEADY } from "./catalog.ts";
import type { Client } from "./client.ts";
import { createFleet, readyFleet } from "./fleets.ts";
import { DIGEST, register, setupOf } from "./registering.ts";
import type { Tests } from "./tests.ts";

const OTHER_DIGEST = `sha256:${"1".repeat(64)}`;

const historyOf = async (client: Client, robot: string) =>
  (await client.call("getRobotHistory", { path: { robot } })).items;

/** What operators ask about robots and what was done, and the service document does not answer. */
export function detailsConformance({ target, it, itOnce }: Tests): void {
  describe("registrations", () => {
    it("the last one: all that was sent, the contract as it was sent, and when it changed", async ({ client }) => {
      const contract = '{"deep":[1,{"x":12345678901234567890}]}';
      const sent = { ...setupOf("r1"), site: "lab", labels: { team: "a" } };
      const setup = `${JSON.stringify(sent).slice(0, -1)},"contract":${contract}}`;
      await client.call("setupRobot", { body: setup });
      const path = { robot: "r1" };
      const first = await client.call("getRegistration", { path });
      const { name: robot, ...members } = sent;
      expect(first).toMatchObject({ robot, ...members });
      expect(first.changed_at).toBe(first.registered_at);
      const answer = await fetch(`${client.nextUrl()}/v1/robots/r1/registration`, {
        headers: { authorization: `Bearer ${client.key}` },
      });
      expect(await answer.text()).toContain(`"contract":${contract}}`);
      await client.call("setupRobot", { body: setup });
      const again = await client.call("getRegistration", { path });
      expect(again.changed_at).toBe(first.changed_at);
      expect(again.registered_at > first.registered_at).toBe(true);
      await register(client, ["r1"], { configuration_digest: OTHER_DIGEST });
      const changed = await client.call("getRegistration", { path });
      expect(changed).toMatchObject({ configuration_digest: OTHER_DIGEST, contract: null });
      expect(changed.changed_at).toBe(changed.registered_at);
    });

    it("changed_at moves with each member by itself, and with nothing else", async ({ client }) => {
      const path = { robot: "r1" };
      const setup = { site: "lab", labels: { team: "a" } };
      await register(client, ["r1"], setup);
      const changes = [
        { configuration_digest: OTHER_DIGEST },
        { robot_type_id: "another" },
        { region: OTHER_REGION },
        { site: null },
        { labels: { team: "b" } },
        { contract: { a: 1 } },
      ];
      for (const change of changes) {
        Object.assign(setup, change);
        const before = await client.call("getRegistration", { path });
        await register(client, ["r1"], setup);
        const after = await client.call("getRegistration", { path });
        expect([change, after.changed_at]).toEqual([change, after.registered_at]);
        expect(after.changed_at > before.changed_at).toBe(true);
        await register(client, ["r1"], setup);
        expect((await client.call("getRegistration", { path })).changed_at).toBe(after.changed_at);
      }
    });

    it("the list: every robot, in pages where they are asked for", async ({ client }) => {
      const robots = await register(client, ["c", "a", "b"]);
      const { items } = await client.call("listRegistrations");
      expect(items.map(({ robot_id: robotId }) => robotId)).toEqual(robots.map(({ id }) => id));
      const page = await client.send("listRegistrations", { query: { limit: "2" } });
      expect(page.headers.get("link")).toContain('rel="next"');
      expect(page.body).toEqual({ items: items.slice(0, 2) });
    });

    it("history: newest first, with what changed, and by whom", async ({ client }) => {
      const key = await client.call("createApiKey", { body: { label: "cell 4", scopes: ["robots:setup"] } });
      await register(client, ["r1"], { site: "lab", labels: { team: "a" } });
      await register(client, ["r1"], { site: "lab", labels: { team: "a" } });
      await register(client.as(key.api_key), ["r1"], {
        region: OTHER_REGION,
        labels: { team: "b" },
        configuration_digest: OTHER_DIGEST,
        contract: { a: 1 },
      });
      const items = await historyOf(client, "r1");
      expect(items.map(({ changed }) => changed)).toEqual([
        ["configuration_digest", "region", "site", "labels", "contract"],
        [],
        null,
      ]);
      expect(items[0]).toMatchObject({
        configuration_digest: OTHER_DIGEST,
        robot_type_id: ROBOT_TYPE,
        region: OTHER_REGION,
        site: null,
        actor: { id: key.id, label: "cell 4" },
      });
      expect(items[2]).toMatchObject({ configuration_digest: DIGEST, site: "lab" });
    });

    it("two computers that register one name in turn are told of, until one of them goes on alone", async ({
      client,
    }) => {
      const [one, other] = [
        await client.call("createApiKey", { body: { label: "cell 4", scopes: ["robots:setup"] } }),
        await client.call("createApiKey", { body: { label: "cell 7", scopes: ["robots:setup"] } }),
      ];
      const path = { robot: "r1" };
      for (const [key, configurationDigest] of [
        [one, DIGEST],
        [other, OTHER_DIGEST],
      ] as const) {
        await register(client.as(key.api_key), ["r1"], { configuration_digest: configurationDigest });
        const told = await client.call("getRegistration", { path });
        expect([told.contested_since, told.contested_from]).toEqual([null, []]);
      }
      const taken = await client.call("getRegistration", { path });
      await register(client.as(one.api_key), ["r1"], { configuration_digest: DIGEST });
      const told = await client.call("getRegistration", { path });
      expect(told.contested_since).toBe(taken.changed_at);
      const [first, second] = told.contested_from;
      expect([first?.actor, second?.actor]).toEqual([
        { id: one.id, label: "cell 4" },
        { id: other.id, label: "cell 7" },
      ]);
      expect(told.contested_from.map(({ address }) => isIP(address) > 0)).toEqual([true, true]);
      const { items } = await client.call("listRegistrations");
      expect(items[0]?.contested_since).toBe(told.contested_since);
      expect((await historyOf(client, "r1")).map(({ contested }) => contested)).toEqual([true, false, false]);
    });

    it("a calibration that one computer takes back is no such thing", async ({ client }) => {
      for (const configurationDigest of [DIGEST, OTHER_DIGEST, DIGEST]) {
        await register(client, ["r1"], { configuration_digest: configurationDigest });
      }
      expect((await client.call("getRegistration", { path: { robot: "r1" } })).contested_since).toBeNull();
    });

    itOnce("history: the newest 200, and the last of them still says what changed", async ({ client }) => {
      for (let round = 0; round < 202; round += 1) {
        await register(client, ["r1"], { site: `s${round}` });
      }
      const items = await historyOf(client, "r1");
      expect(items.map(({ site }) => site)).toEqual(Array.from({ length: 200 }, (_, index) => `s${201 - index}`));
      expect(items.at(-1)?.changed).toEqual(["site"]);
    });

    it.each(["nobody", "rob_00000000000000000000000000", "\u0000"])("of %j: 404", async (robot) => {
      const client = await target().organization();
      await client.refused("NotFound", "getRegistration", { path: { robot } });
      await client.refused("NotFound", "getRobotHistory", { path: { robot } });
    });
  });

  describe("regions", () => {
    it("are those of the endpoints of the catalog, for the key of a robot too", async ({ client }) => {
      const { api_key: apiKey } = await client.call("createApiKey", {
        body: { label: "cell 4", scopes: ["robots:setup"] },
      });
      const { items } = await client.call("listEndpoints");
      const { regions } = await client.as(apiKey).call("listRegions");
      expect(regions).toEqual([...new Set(items.map(({ region }) => region))].toSorted());
    });
  });

  describe("the audit log", () => {
    it("who changed what, newest first, in pages where they are asked for, and no registrations", async ({
      client,
    }) => {
      const { api_key: apiKey, id } = await client.call("createApiKey", { body: { label: "cell 4" } });
      await register(client, ["r1"]);
      await client.as(apiKey).call("createApiKey", { body: { label: "cell 5" } });
      await client.call("revokeApiKey", { path: { key_id: id } });
      const { items } = await client.call("listAudit");
      expect(
        items.slice(0, 3).map(({ action, subject_id: subjectId, actor }) => [action, subjectId, actor.label]),
      ).toEqual([
        ["api_key.revoke", id, expect.any(String)],
        ["api_key.create", expect.any(String), "cell 4"],
        ["api_key.create", id, items[0]?.actor.label],
      ]);
      expect(items.map(({ action }) => action)).not.toContain("robot.setup");
      const first = await client.send("listAudit", { query: { limit: "2" } });
      expect(first.body).toEqual({ items: items.slice(0, 2) });
      const next = /^<(.+)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
      const answer = await fetch(client.nextUrl() + next, { headers: { authorization: `Bearer ${client.key}` } });
      expect(await answer.json()).toEqual({ items: items.slice(2, 4) });
    });

    it("names what was changed", async ({ equipped: client }) => {
      await createFleet(client, "line 4");
      const { id } = await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r1" } });
      await client.call("createApiKey", { body: { label: "cell 4" } });
      const { items } = await client.call("listAudit");
      const named = items
        .slice(0, 3)
        .map(({ action, subject_name: subjectName, subject_model: subjectModel }) => [
          action,
          subjectName,
          subjectModel,
        ]);
      expect(named).toEqual([
        ["api_key.create", "cell 4", null],
        ["deployment.create", "r1", STEADY.slug],
        ["fleet.create", "line 4", null],
      ]);
      expect(items[1]?.subject_id).toBe(id);
    });
  });

  describe("endpoints", () => {
    it("each of the catalog is told with its health, and not where it is", async ({ equipped: client }) => {
      await readyFleet(client, "f");
      const { items } = await client.call("listEndpoints");
      expect(items).toContainEqual({
        model_slug: STEADY.slug,
        checkpoint_id: STEADY.newest,
        region: REGION,
        status: "healthy",
        since: expect.any(String),
        checked_at: expect.any(String),
        detail: null,
      });
      expect(JSON.stringify(items)).not.toContain("127.0.0.1");
    });
  });
}
