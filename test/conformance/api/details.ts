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

/** Operations for operators that the service document does not have: registrations, history, audit log. */
export function detailsConformance({ target, it, itOnce }: Tests): void {
  describe("registrations", () => {
    it("registration → all that was sent, the contract unchanged, and when it changed", async ({ client }) => {
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

    it("list → every robot, in pages if requested", async ({ client }) => {
      const robots = await register(client, ["c", "a", "b"]);
      const { items } = await client.call("listRegistrations");
      expect(items.map(({ robot_id: robotId }) => robotId)).toEqual(robots.map(({ id }) => id));
      const page = await client.send("listRegistrations", { query: { limit: "2" } });
      expect(page.headers.get("link")).toContain('rel="next"');
      expect(page.body).toEqual({ items: items.slice(0, 2) });
    });

    it("history → what changed, newest first, with the changed members and the actor", async ({ client }) => {
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
        null,
      ]);
      expect(items[0]).toMatchObject({
        configuration_digest: OTHER_DIGEST,
        robot_type_id: ROBOT_TYPE,
        region: OTHER_REGION,
        site: null,
        actor: { id: key.id, label: "cell 4" },
      });
      expect(items[1]).toMatchObject({ configuration_digest: DIGEST, site: "lab" });
    });

    it("two computers register one name alternately → contested, with both", async ({ client }) => {
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
        const registration = await client.call("getRegistration", { path });
        expect([registration.contested_since, registration.contested_from]).toEqual([null, []]);
      }
      const takenOver = await client.call("getRegistration", { path });
      await register(client.as(one.api_key), ["r1"], { configuration_digest: DIGEST });
      const contested = await client.call("getRegistration", { path });
      expect(contested.contested_since).toBe(takenOver.changed_at);
      const [first, second] = contested.contested_from;
      expect([first?.actor, second?.actor]).toEqual([
        { id: one.id, label: "cell 4" },
        { id: other.id, label: "cell 7" },
      ]);
      expect(contested.contested_from.map(({ address }) => isIP(address) > 0)).toEqual([true, true]);
      const { items } = await client.call("listRegistrations");
      expect(items[0]?.contested_since).toBe(contested.contested_since);
      expect((await historyOf(client, "r1")).map((entry) => entry.contested)).toEqual([true, false, false]);
    });

    itOnce("history of 102 registrations → the newest 100, each with its changes", async ({ client }) => {
      for (let round = 0; round < 102; round += 1) {
        await register(client, ["r1"], { site: `s${round}` });
      }
      const items = await historyOf(client, "r1");
      expect(items.map(({ site }) => site)).toEqual(Array.from({ length: 100 }, (_, index) => `s${101 - index}`));
      expect(items.slice(-2).map(({ changed }) => changed)).toEqual([["site"], null]);
    });

    it.each(["nobody", "rob_00000000000000000000000000", "\u0000"])(
      "registration and history of %j → 404",
      async (robot) => {
        const client = await target().organization();
        await client.refused("NotFound", "getRegistration", { path: { robot } });
        await client.refused("NotFound", "getRobotHistory", { path: { robot } });
      },
    );
  });

  describe("regions", () => {
    it("list → the regions of all endpoints, also with the key of a robot", async ({ client }) => {
      const robot = await client.withKey({ scopes: ["robots:setup"] });
      const { items } = await client.call("listEndpoints");
      const { regions } = await robot.call("listRegions");
      expect(regions).toEqual([...new Set(items.map(({ region }) => region))].toSorted());
    });
  });

  describe("audit log", () => {
    it("list → actions with actors, newest first, in pages if requested, without registrations", async ({ client }) => {
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

    it("list after an entry → later ones, oldest first, in pages if requested; no such id → 422", async ({
      client,
    }) => {
      for (const label of ["a", "b", "c", "d"]) await client.call("createApiKey", { body: { label } });
      const all = (await client.call("listAudit")).items.slice(0, 4).toReversed();
      const query = { after: all[0]?.id ?? "" };
      expect((await client.call("listAudit", { query })).items).toEqual(all.slice(1));
      const first = await client.send("listAudit", { query: { ...query, limit: "2" } });
      expect(first.body).toEqual({ items: all.slice(1, 3) });
      const next = /^<(.+)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
      const answer = await fetch(client.nextUrl() + next, { headers: { authorization: `Bearer ${client.key}` } });
      expect(await answer.json()).toEqual({ items: all.slice(3) });
      expect((await client.call("listAudit", { query: { after: all[3]?.id ?? "" } })).items).toEqual([]);
      await client.invalid([["query", "after"]], "listAudit", { query: { after: "key_1" } });
    });

    it("list → names of the subjects", async ({ equipped: client }) => {
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
    it("list → each with its health, without its address", async ({ equipped: client }) => {
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
