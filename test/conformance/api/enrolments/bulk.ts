import { describe, expect } from "vitest";

import { computerOf, enrollmentKey, inDays, poll, reasonOf, startOf } from "./enrolling.ts";
import { register } from "../registering.ts";
import type { Tests } from "../tests.ts";

export function bulkEnrolmentsConformance({ target, it }: Tests): void {
  describe("enrollment keys", () => {
    it("start with it → approved at once; site and region of the key take precedence, labels are merged", async ({
      client,
    }) => {
      const terms = { uses: 2, site: "plant-1", region: " EU-West-1 ", labels: { line: "4" } };
      const key = await enrollmentKey(client, terms);
      expect(key).toMatchObject({
        enrollment: { ...terms, region: "eu-west-1" },
        uses_remaining: 2,
        last_robot_id: null,
      });
      const computer = computerOf(client);
      const members = { requested_name: " ARM-1", region: "us-west-2", site: "home", labels: { line: "1", cell: "2" } };
      const started = await client.as(key.api_key).call("startEnrolment", startOf(computer, members));
      expect(started.approval_required).toBe(false);
      const polled = await poll(client, computer, started);
      if (polled.status !== "approved") throw new Error(polled.status);
      expect(polled.robot).toMatchObject({
        name: "arm-1",
        site: "plant-1",
        region: "eu-west-1",
        labels: { line: "4", cell: "2" },
      });
      const { items } = await client.call("listApiKeys");
      expect(items.find(({ id }) => id === key.id)).toMatchObject({
        uses_remaining: 1,
        last_robot_id: polled.robot.id,
      });
      const audited = await client.call("listAudit");
      expect(audited.items).toMatchObject([
        {
          action: "robot.enroll",
          subject_id: polled.robot.id,
          subject_name: "arm-1",
          actor: { id: key.id },
          details: { address: "127.0.0.1", key_id: key.id },
        },
        { action: "enrolment.start", actor: { id: key.id }, details: { address: "127.0.0.1" } },
        { action: "api_key.create", subject_id: key.id },
      ]);
    });

    it("used up → 403; a start that is denied or replaced returns its use", async ({ client }) => {
      const { api_key: apiKey } = await enrollmentKey(client, { uses: 2 });
      const bulk = client.as(apiKey);
      const computers = Array.from({ length: 3 }, () => computerOf(client));
      const startBulk = (index: number) => {
        const computer = computers[index] ?? computerOf(client);
        return bulk.call("startEnrolment", startOf(computer, { requested_name: `arm-${index}` }));
      };
      await startBulk(0);
      await startBulk(0);
      const second = await startBulk(1);
      const third = startOf(computerOf(client), { requested_name: "arm-2" });
      expect(await reasonOf(bulk, "startEnrolment", third)).toEqual([403, "uses_spent"]);
      await client.call("denyEnrolment", { body: { user_code: second.user_code } });
      await startBulk(2);
      expect(await reasonOf(bulk, "startEnrolment", third)).toEqual([403, "uses_spent"]);
    });

    it("concurrent starts → as many are approved as it has uses", async ({ client }) => {
      const { api_key: apiKey } = await enrollmentKey(client, { uses: 3 });
      const answers = await Promise.all(
        Array.from({ length: 9 }, (_, index) =>
          client.as(apiKey).send("startEnrolment", startOf(computerOf(client), { requested_name: `arm-${index}` })),
        ),
      );
      const statuses = answers.map(({ status }) => status).toSorted();
      expect(statuses).toEqual([200, 200, 200, 403, 403, 403, 403, 403, 403]);
    });

    it("robot of that name exists → waits for approval by its organization", async ({ client }) => {
      const other = await target().organization();
      await register(client, ["arm-1"]);
      const { api_key: apiKey, id } = await enrollmentKey(client);
      const computer = computerOf(client);
      const started = await client.as(apiKey).call("startEnrolment", startOf(computer));
      expect(started).toMatchObject({ approval_required: true, reason: "name_exists" });
      // Without the key nobody learns which names exist.
      const { active_organization: organization } = await client.call("getSession");
      const anonymous = startOf(computerOf(client), { organization_id: organization.id });
      expect(await client.as(null).call("startEnrolment", anonymous)).not.toHaveProperty("reason");
      expect(await poll(client, computer, started)).toMatchObject({ status: "pending" });
      const { items } = await client.call("listApiKeys");
      expect(items.find((key) => key.id === id)).toMatchObject({ uses_remaining: 10 });
      await other.refused("NotFound", "approveEnrolment", { body: { user_code: started.user_code } });
      expect((await client.call("listEnrolments")).items).toHaveLength(2);
      await client.call("approveEnrolment", { body: { user_code: started.user_code } });
      expect(await poll(client, computer, started)).toMatchObject({ status: "approved" });
    });

    it("two computers with one name → the second waits for approval, and its use is returned", async ({ client }) => {
      const { api_key: apiKey, id } = await enrollmentKey(client);
      const computers = [computerOf(client), computerOf(client)];
      const starts = await Promise.all(
        computers.map((computer) => client.as(apiKey).call("startEnrolment", startOf(computer))),
      );
      expect(starts.map(({ approval_required: isRequired }) => isRequired)).toEqual([false, false]);
      const states = await Promise.all(
        computers.map(async (computer, index) => {
          const started = starts[index];
          return started === undefined ? "" : (await poll(client, computer, started)).status;
        }),
      );
      expect(states.toSorted()).toEqual(["approved", "pending"]);
      const { items } = await client.call("listApiKeys");
      expect(items.find((key) => key.id === id)).toMatchObject({ uses_remaining: 9 });
      expect((await client.call("listEnrolments")).items).toMatchObject([{ robot: { name: "arm-1" } }]);
    });

    it("revoked → enrolments it approved are denied if not polled", async ({ client }) => {
      const { api_key: apiKey, id } = await enrollmentKey(client);
      const computer = computerOf(client);
      const started = await client.as(apiKey).call("startEnrolment", startOf(computer));
      await client.call("revokeApiKey", { path: { key_id: id } });
      expect(await poll(client, computer, started)).toEqual({ status: "denied" });
      await client.as(apiKey).refused("Unauthorized", "startEnrolment", startOf(computer));
    });

    it("invalid name or region → 422 at the start", async ({ client }) => {
      const { api_key: apiKey } = await enrollmentKey(client);
      const bulk = client.as(apiKey);
      const computer = computerOf(client);
      const invalid = (member: string, members: object) =>
        bulk.invalid([["body", member]], "startEnrolment", startOf(computer, members));
      await invalid("requested_name", { requested_name: "arm 1" });
      await invalid("region", { region: null });
      await invalid("organization_id", { organization_id: "org_another" });
    });

    it.for<[what: string, members: object, member: string]>([
      ["with another scope", { scopes: ["robots:enroll", "robots:read"] }, "enrollment"],
      ["without its scope", { scopes: ["robots:setup"] }, "enrollment"],
      ["without scopes", { scopes: null }, "enrollment"],
      ["without its terms", { enrollment: null }, "enrollment"],
      ["that never expires", { expires_at: null }, "expires_at"],
      ["valid for more than 90 days", { expires_at: inDays(91) }, "expires_at"],
    ])("create %s → 422", async ([, members, member], { client }) => {
      const body = {
        label: "k",
        scopes: ["robots:enroll"],
        expires_at: inDays(7),
        enrollment: { uses: 1 },
        ...members,
      };
      await client.invalid([["body", member]], "createApiKey", { body });
    });

    it("create with a restricted key → 403", async ({ client }) => {
      const restricted = await client.withKey({ scopes: ["api-keys:write", "robots:write"] });
      const body = { label: "k", scopes: ["robots:enroll"], expires_at: inDays(7), enrollment: { uses: 1 } };
      await restricted.refused("Forbidden", "createApiKey", { body });
    });
  });
}
