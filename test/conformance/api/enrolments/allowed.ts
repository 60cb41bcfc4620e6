import { describe, expect } from "vitest";

import { keyFingerprint } from "../../../../src/platform/ed25519.ts";
import type { RobotComputer } from "../../../support/service/robot-computer.ts";
import type { Client } from "../client.ts";
import { register } from "../registering.ts";
import type { Tests } from "../tests.ts";
import { computerOf, inDays, poll, start } from "./enrolling.ts";

/** Starts an enrolment that names the organization, which is required because the service has several. */
async function startAt(client: Client, computer: RobotComputer, members: object = {}) {
  const { organization } = await client.call("getAccount");
  return start(client, computer, { organization_id: organization.id, ...members });
}

function allow(client: Client, ...keys: string[]) {
  return client.call("allowKeys", { body: { keys, expires_at: inDays(7) } });
}

export function allowedKeysConformance({ target, it }: Tests): void {
  describe("allowed keys", () => {
    it("computer on the list → enrolls once without approval; list and audit log name who allowed it", async ({
      client,
    }) => {
      const { api_key: apiKey, id: keyId } = await client.call("createApiKey", {
        body: { label: "batch 7", scopes: ["robots:write"] },
      });
      const computer = computerOf(client);
      const other = computerOf(client);
      const fingerprint = keyFingerprint(computer.publicKey);
      const added = await allow(client.as(apiKey), computer.publicKey, fingerprint, keyFingerprint(other.publicKey));
      expect(added.added).toBe(2);
      const started = await startAt(client, computer);
      expect(started.approval_required).toBe(false);
      const polled = await poll(client, computer, started);
      if (polled.status !== "approved") throw new Error(polled.status);
      expect((await computer.heartbeat()).status).toBe(200);
      const { items } = await client.call("listAllowedKeys");
      expect(items).toMatchObject([
        {
          key_fingerprint: fingerprint,
          allowed_by: { id: keyId, label: "batch 7" },
          used_at: expect.any(String),
          robot_id: polled.robot.id,
          robot: "arm-1",
        },
        { key_fingerprint: keyFingerprint(other.publicKey), used_at: null, robot: null },
      ]);
      expect((await client.call("listAudit")).items).toMatchObject([
        { action: "robot.enroll", actor: { id: keyId }, details: { allowed_key_id: items[0]?.id } },
        { action: "enrolment.approve", actor: { id: keyId }, details: { key_fingerprint: fingerprint } },
        { action: "allowed_keys.add", actor: { id: keyId }, details: { count: 2 } },
        { action: "api_key.create" },
      ]);
      await client.call("removeRobot", { path: { robot: "arm-1" } });
      expect((await startAt(client, computer)).approval_required).toBe(true);
      await allow(client, fingerprint);
      expect((await startAt(client, computer)).approval_required).toBe(false);
    });

    it("answer to a start lost → the next start is approved as well", async ({ client }) => {
      const computer = computerOf(client);
      await allow(client, computer.publicKey);
      const starts = await Promise.all([startAt(client, computer), startAt(client, computer)]);
      expect(starts.map(({ approval_required: isRequired }) => isRequired)).toEqual([false, false]);
      const statuses = await Promise.all(starts.map(async (started) => (await poll(client, computer, started)).status));
      expect(statuses.toSorted()).toEqual(["approved", "expired"]);
    });

    it("robot of that name exists, even if added after the start → waits for approval", async ({ client }) => {
      await register(client, ["arm-1"]);
      const [computer, late] = [computerOf(client), computerOf(client)];
      await allow(client, computer.publicKey, late.publicKey);
      const started = await startAt(client, computer);
      expect(started.approval_required).toBe(true);
      expect(await poll(client, computer, started)).toMatchObject({ status: "pending" });
      const approved = await startAt(client, late, { requested_name: "arm-2" });
      expect(approved.approval_required).toBe(false);
      await register(client, ["arm-2"]);
      expect(await poll(client, late, approved)).toMatchObject({ status: "pending" });
      const { items } = await client.call("listAllowedKeys");
      expect(items.map(({ used_at: usedAt }) => usedAt)).toEqual([null, null]);
      await client.call("approveEnrolment", { body: { user_code: approved.user_code } });
      expect(await poll(client, late, approved)).toMatchObject({ status: "approved" });
    });

    it.for<[what: string, members: object]>([
      ["no region", { region: null }],
      ["an invalid robot name", { requested_name: "no name!" }],
      ["no organization, of several", { organization_id: null }],
    ])("computer with %s → waits for approval", async ([, members], { client }) => {
      await target().organization();
      const computer = computerOf(client);
      await allow(client, computer.publicKey);
      expect((await startAt(client, computer, members)).approval_required).toBe(true);
    });

    it("list of another organization → neither applies nor is shown", async ({ client }) => {
      const stranger = await target().organization();
      const computer = computerOf(client);
      await allow(stranger, computer.publicKey);
      expect((await startAt(client, computer)).approval_required).toBe(true);
      expect((await client.call("listAllowedKeys")).items).toEqual([]);
      const [entry] = (await stranger.call("listAllowedKeys")).items;
      await client.refused("NotFound", "removeAllowedKey", { path: { allowed_key_id: entry?.id ?? "" } });
    });

    it("entry removed, or its API key revoked → enrolments it approved are denied if not polled", async ({
      client,
    }) => {
      const { api_key: apiKey, id: keyId } = await client.call("createApiKey", {
        body: { label: "leaked", scopes: ["robots:write"] },
      });
      const [removed, revoked] = [computerOf(client), computerOf(client)];
      await allow(client, removed.publicKey);
      await allow(client.as(apiKey), revoked.publicKey);
      const starts = [
        await startAt(client, removed),
        await startAt(client, revoked, { requested_name: "arm-2" }),
      ] as const;
      const [entry] = (await client.call("listAllowedKeys")).items;
      const path = { allowed_key_id: entry?.id ?? "" };
      expect(await client.call("removeAllowedKey", { path })).toMatchObject({ id: entry?.id });
      await client.refused("NotFound", "removeAllowedKey", { path });
      await client.call("revokeApiKey", { path: { key_id: keyId } });
      expect(await poll(client, removed, starts[0])).toEqual({ status: "denied" });
      expect(await poll(client, revoked, starts[1])).toEqual({ status: "denied" });
      expect((await client.call("listAllowedKeys")).items).toEqual([]);
      expect((await startAt(client, revoked)).approval_required).toBe(true);
    });

    it("invalid keys, expiry too far ahead → 422; API key bound to robots → 403", async ({ client }) => {
      const good = computerOf(client).publicKey;
      const send = (keys: string[], expiresAt = inDays(7)) => ({ body: { keys, expires_at: expiresAt } });
      const bad = [`${good}x`, "SHA256:short", "ssh-ed25519 AAAA"];
      const locs = bad.map((_, index) => ["body", "keys", index + 1]);
      await client.invalid(locs, "allowKeys", send([good, ...bad]));
      await client.invalid([["body", "keys"]], "allowKeys", send([]));
      await client.invalid([["body", "expires_at"]], "allowKeys", send([good], inDays(91)));
      await client.invalid([["body", "expires_at"]], "allowKeys", send([good], inDays(-1)));
      const bound = await client.withKey({ scopes: ["robots:setup", "robots:write"], max_robots: 1 });
      await bound.refused("Forbidden", "allowKeys", send([good]));
      await client.call("allowKeys", send([good]));
      const [entry] = (await client.call("listAllowedKeys")).items;
      await bound.refused("Forbidden", "removeAllowedKey", { path: { allowed_key_id: entry?.id ?? "" } });
      expect((await client.call("listAllowedKeys")).items).toEqual([entry]);
    });
  });
}
