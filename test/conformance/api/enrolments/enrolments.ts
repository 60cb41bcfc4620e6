import { describe, expect } from "vitest";

import { enrolmentText } from "../../../../src/api/wire/signed-texts.ts";
import { comeOnline, computerOf, enroll, enrollmentKey, poll, pollOf, reasonOf, start, startOf } from "./enrolling.ts";
import { register, setupOf } from "../registering.ts";
import type { Tests } from "../tests.ts";

export function enrolmentsConformance({ target, it }: Tests): void {
  describe("enrolments", () => {
    it("start, approve by code, poll → the computer gets its own credential", async ({ client }) => {
      const computer = computerOf(client);
      const started = await start(client, computer, { site: "plant-1", labels: { line: "4" } });
      expect(started.approval_required).toBe(true);
      expect(Date.parse(started.expires_at) - Date.now()).toBeGreaterThan(590_000);
      expect(await poll(client, computer, started)).toEqual({ status: "pending", retry_after_s: 5 });
      const typed = ` ${started.user_code.toLowerCase().replace("-", " ")}`;
      const approved = await client.call("approveEnrolment", { body: { user_code: typed } });
      expect(approved).toEqual({
        approval_id: started.approval_id,
        user_code: started.user_code,
        status: "approved",
        requested_name: "arm-1",
        region: "us-west-2",
        robot_type_id: "generic.robot.v1",
      });
      const polled = await poll(client, computer, started);
      expect(polled).toMatchObject({
        status: "approved",
        generation: 1,
        robot: {
          name: "arm-1",
          region: "us-west-2",
          robot_type_id: "generic.robot.v1",
          site: "plant-1",
          labels: { line: "4" },
          status: "offline",
          site_inference: null,
        },
      });
      if (polled.status !== "approved") throw new Error(polled.status);
      expect(polled.principal).toBe(`robot:${polled.robot.id}`);
      expect(polled.robot.installation_id).toBe(polled.installation_id);
      expect((await client.call("listRobots")).map(({ id }) => id)).toEqual([polled.robot.id]);
      expect(await client.call("getInstallation", { path: { robot: "arm-1" } })).toMatchObject({
        installation_id: polled.installation_id,
        state: "active",
        credential_expires_at: polled.credential_expires_at,
      });
      // The first use of the credential completes the enrolment.
      expect((await computer.heartbeat()).status).toBe(200);
      expect(await poll(client, computer, started)).toEqual({ status: "consumed" });
      expect((await computer.heartbeat()).status).toBe(200);
    });

    it("answer to a poll lost → the next poll replaces the credential", async ({ client }) => {
      const computer = computerOf(client);
      const started = await start(client, computer);
      await client.call("approveEnrolment", { body: { user_code: started.user_code } });
      const [lost, kept] = [await poll(client, computer, started), await poll(client, computer, started)];
      if (lost.status !== "approved" || kept.status !== "approved") throw new Error("not approved");
      expect(kept.installation_id).toBe(lost.installation_id);
      expect(kept.installation_token).not.toBe(lost.installation_token);
      expect((await computer.heartbeat({}, lost.installation_token)).status).toBe(401);
      expect((await computer.heartbeat()).status).toBe(200);
    });

    it("concurrent polls → one installation, and the last credential works", async ({ client }) => {
      const computer = computerOf(client);
      const started = await start(client, computer);
      await client.call("approveEnrolment", { body: { user_code: started.user_code } });
      const polls = await Promise.all(Array.from({ length: 8 }, () => poll(client, computer, started)));
      const approved = polls.flatMap((polled) => (polled.status === "approved" ? [polled] : []));
      expect(approved).toHaveLength(8);
      expect(new Set(approved.map(({ installation_id: id }) => id)).size).toBe(1);
      const works = await Promise.all(
        approved.map(async ({ installation_token: token }) => (await computer.heartbeat({}, token)).status),
      );
      expect(works.filter((status) => status === 200)).toHaveLength(1);
      expect(await client.call("listRobots")).toHaveLength(1);
    });

    it("poll with an unknown enrolment, wrong token or signature → the same 404, without side effects", async ({
      client,
    }) => {
      const [computer, other] = [computerOf(client), computerOf(client)];
      const started = await start(client, computer);
      const text = enrolmentText(started.approval_id, started.poll_token);
      const wrong = [
        pollOf(computer, { ...started, approval_id: "renr_01h455vb4pex5vsknk084sn02q" }),
        pollOf(computer, { ...started, poll_token: `${started.poll_token}x` }),
        pollOf(other, started),
        pollOf(computer, started, { signature: computer.sign(`${text}|`) }),
        pollOf(computer, started, { signature: "x" }),
        pollOf(computer, started, { signature: `${computer.sign(text)}A` }),
        pollOf(computer, started, { approval_id: "'; drop table enrolments; --" }),
      ];
      const sentences = new Set<string>();
      for (const sent of wrong) sentences.add(await client.as(null).refused("NotFound", "pollEnrolment", sent));
      expect(sentences.size).toBe(1);
      expect(await poll(client, computer, started)).toMatchObject({ status: "pending" });
      // Padding of base64url is accepted.
      const padded = pollOf(computer, started, { signature: `${computer.sign(text)}==` });
      expect(await client.as(null).call("pollEnrolment", padded)).toMatchObject({ status: "pending" });
    });

    it("another start with the same key → the earlier enrolment expires; with an installed key → 409", async ({
      client,
    }) => {
      const computer = computerOf(client);
      const first = await start(client, computer);
      await client.call("approveEnrolment", { body: { user_code: first.user_code } });
      const second = await start(client, computer);
      expect(await poll(client, computer, first)).toEqual({ status: "expired" });
      await client.refused("NotFound", "approveEnrolment", { body: { user_code: first.user_code } });
      await client.call("approveEnrolment", { body: { user_code: second.user_code } });
      await poll(client, computer, second);
      expect(await reasonOf(client.as(null), "startEnrolment", startOf(computer))).toEqual([409, "key_in_use"]);
      expect(await poll(client, computer, second)).toMatchObject({ status: "approved" });
    });

    it("concurrent starts with one key → one stays pending", async ({ client }) => {
      const computer = computerOf(client);
      const starts = await Promise.all(Array.from({ length: 8 }, () => start(client, computer)));
      const states = await Promise.all(starts.map(async (started) => (await poll(client, computer, started)).status));
      expect(states.toSorted()).toEqual([...Array.from({ length: 7 }, () => "expired"), "pending"]);
    });

    it("approve with a name and region → these apply; invalid name or no region → 422, still pending", async ({
      client,
    }) => {
      const computer = computerOf(client);
      const started = await start(client, computer, { requested_name: "Arm 1 ", region: null });
      const code = { user_code: started.user_code };
      const invalid = (loc: string, body: object) => client.invalid([["body", loc]], "approveEnrolment", { body });
      await invalid("name", code);
      await invalid("name", { ...code, name: "-arm" });
      await invalid("region", { ...code, name: "arm-9" });
      await invalid("region", { ...code, name: "arm-9", region: "  " });
      expect(await poll(client, computer, started)).toMatchObject({ status: "pending" });
      const body = { ...code, name: "  ARM-9 ", region: " EU-Central-1" };
      const answer = { requested_name: "arm-9", region: "eu-central-1" };
      expect(await client.call("approveEnrolment", { body })).toMatchObject(answer);
      // The same values again give the same answer, others a conflict.
      expect(await client.call("approveEnrolment", { body })).toMatchObject(answer);
      const others = { ...body, region: "eu-west-1" };
      expect(await reasonOf(client, "approveEnrolment", { body: others })).toEqual([409, "already_approved"]);
      expect(await poll(client, computer, started)).toMatchObject({
        robot: { name: "arm-9", region: "eu-central-1" },
      });
    });

    it("approve with a site and labels → these apply, the labels beside the computer's; others later → 409", async ({
      client,
    }) => {
      const computer = computerOf(client);
      const started = await start(client, computer, { site: "lab", labels: { line: "7", cell: "2" } });
      const body = { user_code: started.user_code, site: "plant-1", labels: { line: "4" } };
      const given = { site: "plant-1", labels: { line: "4", cell: "2" } };
      expect(await client.call("approveEnrolment", { body })).toMatchObject(given);
      const others = { ...body, site: "plant-2" };
      expect(await reasonOf(client, "approveEnrolment", { body: others })).toEqual([409, "already_approved"]);
      expect(await poll(client, computer, started)).toMatchObject({ robot: given });
      for (const wrong of [{ site: "x".repeat(129) }, { labels: { a: 1 } }]) {
        expect((await client.send("approveEnrolment", { body: { ...body, ...wrong } })).status).toBe(422);
      }
    });

    it("no region given → the inferred one applies, and the computer's address is not stored", async ({ client }) => {
      const computer = computerOf(client);
      const inference = {
        outcome: "resolved_to_ping",
        site: { aws_region: "eu-north-1", latency_ms: 12.5 },
        geolocation: { ip: "203.0.113.77", city: "Umeå" },
        extra: [1, null],
      };
      const started = await start(client, computer, { region: "", site_inference: inference });
      const { user_code: userCode } = started;
      expect(await client.call("approveEnrolment", { body: { user_code: userCode } })).toMatchObject({
        region: "eu-north-1",
      });
      const polled = await poll(client, computer, started);
      if (polled.status !== "approved") throw new Error(polled.status);
      expect(polled.robot.site_inference).toEqual({ ...inference, geolocation: { city: "Umeå" } });
    });

    it("enrolment of an existing robot → keeps id and omitted members, gets the region, and replaces its computer", async ({
      client,
    }) => {
      const [robot] = await register(client, ["arm-1"], { site: "plant-1", labels: { line: "4" } });
      const old = await enroll(client, { site: null, labels: {} });
      const computer = computerOf(client);
      const again = await start(client, computer, { region: "eu-west-1", labels: { line: "5" } });
      await client.call("approveEnrolment", { body: { user_code: again.user_code } });
      // The old computer works until the new one polls.
      expect((await old.heartbeat()).status).toBe(200);
      await comeOnline(client, old);
      expect(await poll(client, computer, again)).toEqual({ status: "denied" });
      const confirmed = await start(client, computer, { region: "eu-west-1", labels: { line: "5" } });
      const code = { user_code: confirmed.user_code };
      expect(await reasonOf(client, "approveEnrolment", { body: code })).toEqual([409, "robot_online"]);
      const body = { ...code, confirm_replace: true };
      expect(await client.call("approveEnrolment", { body })).toMatchObject({ robot_type_id: robot?.robot_type_id });
      const polled = await poll(client, computer, confirmed);
      expect(polled).toMatchObject({
        status: "approved",
        robot: {
          ...robot,
          region: "eu-west-1",
          site: "plant-1",
          labels: { line: "5" },
          presence: "offline",
          installation_id: computer.installationId,
        },
      });
      expect((await old.heartbeat()).status).toBe(401);
      expect((await computer.heartbeat()).status).toBe(200);
      expect(await client.call("listRobots")).toHaveLength(1);
    });

    it("concurrent approvals with different names → one succeeds", async ({ client }) => {
      const computer = computerOf(client);
      const started = await start(client, computer);
      const names = Array.from({ length: 6 }, (_, index) => `arm-${index}`);
      const answers = await Promise.all(
        names.map((name) => client.send("approveEnrolment", { body: { user_code: started.user_code, name } })),
      );
      const winner = names.find((_, index) => answers[index]?.status === 200);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409]);
      expect(await poll(client, computer, started)).toMatchObject({ robot: { name: winner } });
    });

    it("two computers poll concurrently for one name → one installation works", async ({ client }) => {
      const computers = [computerOf(client), computerOf(client)];
      const starts = await Promise.all(computers.map((computer) => start(client, computer)));
      for (const { user_code: userCode } of starts) {
        await client.call("approveEnrolment", { body: { user_code: userCode } });
      }
      await Promise.all(
        computers.map(async (computer, index) => {
          const started = starts[index];
          if (started !== undefined) await poll(client, computer, started);
        }),
      );
      const beats = await Promise.all(computers.map(async (computer) => (await computer.heartbeat()).status));
      expect(beats.toSorted()).toEqual([200, 401]);
      expect(await client.call("listRobots")).toHaveLength(1);
    });

    it("deny, before or after the approval → denied; after the poll → 404", async ({ client }) => {
      const [waiting, approved] = [computerOf(client), computerOf(client)];
      const [first, second] = [await start(client, waiting), await start(client, approved)];
      await client.call("approveEnrolment", { body: { user_code: second.user_code } });
      for (const { user_code: userCode } of [first, second]) {
        expect(await client.call("denyEnrolment", { body: { user_code: userCode } })).toMatchObject({
          user_code: userCode,
          requested_name: "arm-1",
        });
        await client.refused("NotFound", "denyEnrolment", { body: { user_code: userCode } });
        await client.refused("NotFound", "approveEnrolment", { body: { user_code: userCode } });
      }
      expect(await poll(client, waiting, first)).toEqual({ status: "denied" });
      expect(await poll(client, approved, second)).toEqual({ status: "denied" });
      expect(await client.call("listRobots")).toEqual([]);
      const third = await start(client, waiting);
      await client.call("approveEnrolment", { body: { user_code: third.user_code } });
      await poll(client, waiting, third);
      await client.refused("NotFound", "denyEnrolment", { body: { user_code: third.user_code } });
    });

    it("enrolled before its files were read → the first registration is that of its files", async ({ client }) => {
      const computer = await enroll(client);
      const history = async () => (await client.call("getRobotHistory", { path: { robot: "arm-1" } })).items;
      expect(await history()).toEqual([]);
      const body = setupOf("arm-1");
      await client.as(computer.token).call("setupRobot", { body });
      expect(await history()).toMatchObject([{ changed: null, configuration_digest: body.configuration_digest }]);
      await client.as(computer.token).call("setupRobot", { body: { ...body, site: "elsewhere" } });
      expect((await history()).map(({ changed }) => changed)).toEqual([["site"], null]);
    });

    it("get and list → the request, and the existing robot of that name", async ({ client }) => {
      const [robot] = await register(client, ["arm-1"]);
      const computer = computerOf(client);
      const { items } = await client.call("listApiKeys");
      expect(items).toHaveLength(1);
      const { active_organization: organization } = await client.call("getSession");
      const named = await start(client, computer, { organization_id: organization.id, site: "plant-1" });
      const unnamed = await start(client, computerOf(client));
      const view = {
        approval_id: named.approval_id,
        requested_name: "arm-1",
        region: "us-west-2",
        site: "plant-1",
        address: "127.0.0.1",
        robot: { ...robot, status: "offline", installation_id: null },
      };
      expect(await client.call("getEnrolment", { path: { user_code: named.user_code } })).toMatchObject(view);
      // get works for anyone with the code; list shows only those that name the organization.
      await client.call("getEnrolment", { path: { user_code: unnamed.user_code } });
      expect(await client.call("listEnrolments")).toMatchObject({ items: [view] });
    });

    it("enrolment that names an organization, or is decided → 404 for other organizations", async ({ client }) => {
      const other = await target().organization();
      const { active_organization: organization } = await client.call("getSession");
      const named = await start(client, computerOf(client), { organization_id: organization.id });
      const decided = await start(client, computerOf(client), { requested_name: "arm-2" });
      await client.call("approveEnrolment", { body: { user_code: decided.user_code } });
      const nothing = await other.refused("NotFound", "approveEnrolment", { body: { user_code: "AAAA-AAAA" } });
      for (const { user_code: userCode } of [named, decided]) {
        expect(await other.refused("NotFound", "approveEnrolment", { body: { user_code: userCode } })).toBe(nothing);
        expect(await other.refused("NotFound", "denyEnrolment", { body: { user_code: userCode } })).toBe(nothing);
        expect(await other.refused("NotFound", "getEnrolment", { path: { user_code: userCode } })).toBe(nothing);
      }
      expect(await other.call("listEnrolments")).toEqual({ items: [] });
    });

    it("approve or deny with a robot's credential or an enrollment key → 403", async ({ client }) => {
      const computer = await enroll(client);
      const key = await enrollmentKey(client);
      const started = await start(client, computerOf(client), { requested_name: "arm-2" });
      const body = { user_code: started.user_code };
      for (const token of [computer.token, key.api_key]) {
        for (const name of ["approveEnrolment", "denyEnrolment"] as const) {
          expect(await reasonOf(client.as(token), name, { body })).toEqual([403, "scope"]);
        }
        expect(await reasonOf(client.as(token), "listEnrolments")).toEqual([403, "scope"]);
        expect(await reasonOf(client.as(token), "listRobots")).toEqual([403, "scope"]);
      }
      const setup = await client.withKey({ scopes: ["robots:setup"] });
      expect(await reasonOf(setup, "approveEnrolment", { body })).toEqual([403, "scope"]);
    });

    it("start with a credential → only enrollment keys are accepted", async ({ client }) => {
      const sent = startOf(computerOf(client));
      expect(await reasonOf(client, "startEnrolment", sent)).toEqual([403, "scope"]);
      await client.as("sk_rps_nonsense").refused("Unauthorized", "startEnrolment", sent);
      const computer = await enroll(client);
      expect(await reasonOf(client.as(computer.token), "startEnrolment", sent)).toEqual([403, "scope"]);
    });
  });
}
