import { describe, expect } from "vitest";

import { GENERAL_SCOPES } from "../../../src/api/wire/scopes.ts";
import { register } from "./registering.ts";
import type { Tests } from "./tests.ts";
import { soon } from "./waiting.ts";

export function apiKeysConformance({ target, it, itOnce }: Tests): void {
  describe("API keys", () => {
    it("create → shows the key once, and it works at once", async ({ client }) => {
      const created = await client.call("createApiKey", { body: { label: "line 1 🤖" } });
      expect(created).toMatchObject({ label: "line 1 🤖", scopes: null, expires_at: null });
      expect(created.api_key.length).toBeLessThanOrEqual(40);
      expect(created.api_key.endsWith(created.key_last4 ?? "?")).toBe(true);
      await client.as(created.api_key).call("listRobots");
      const { headers, body } = await client.send("listApiKeys");
      expect(JSON.stringify([[...headers], body])).not.toContain(created.api_key.slice(0, 20));
    });

    it("list → every key, revoked ones included, oldest first", async ({ client }) => {
      const first = await client.call("createApiKey", { body: { label: "b" } });
      const second = await client.call("createApiKey", { body: { label: "a", scopes: ["robots:setup"] } });
      await client.call("revokeApiKey", { path: { key_id: first.id } });
      const { items } = await client.call("listApiKeys");
      expect(items.slice(-2)).toMatchObject([
        { id: first.id, label: "b", scopes: null, revoked_at: expect.any(String) },
        { id: second.id, label: "a", scopes: ["robots:setup"], revoked_at: null },
      ]);
    });

    it("revoke → effective at once on every replica; again → the same answer", async ({ client }) => {
      const { id, api_key: apiKey } = await client.call("createApiKey", { body: { label: "k" } });
      const other = client.as(apiKey);
      for (let round = 0; round < 4; round += 1) await other.call("listRobots");
      const revoked = await client.call("revokeApiKey", { path: { key_id: id } });
      expect(revoked.revoked_at).not.toBeNull();
      for (let round = 0; round < 4; round += 1) {
        expect(await other.refused("Unauthorized", "listRobots")).toContain("revoked");
      }
      expect((await client.call("revokeApiKey", { path: { key_id: id } })).revoked_at).toBe(revoked.revoked_at);
    });

    it("revoke of the key itself → allowed once", async ({ client }) => {
      const { id, api_key: apiKey } = await client.call("createApiKey", { body: { label: "k" } });
      await client.as(apiKey).call("revokeApiKey", { path: { key_id: id } });
      await client.as(apiKey).refused("Unauthorized", "revokeApiKey", { path: { key_id: id } });
    });

    it.each(["key_00000000000000000000000000", "k", "label", "key_'; drop table api_keys"])(
      "revoke of %j → 404",
      async (keyId) => {
        await (await target().organization()).refused("NotFound", "revokeApiKey", { path: { key_id: keyId } });
      },
    );

    itOnce.each<[what: string, body: unknown, member: string, rest?: readonly (string | number)[]]>([
      ["an unknown scope", { label: "k", scopes: ["robots:setup", "root"] }, "scopes", [1]],
      ["an empty list of scopes", { label: "k", scopes: [] }, "scopes"],
      ["scopes as a string", { label: "k", scopes: "robots:setup" }, "scopes"],
      ["an expiry in the past", { label: "k", expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
      ["an expiry that is not a time", { label: "k", expires_at: "tomorrow" }, "expires_at"],
    ])("create with %s → 422", async (_what, body, member, rest = []) => {
      const client = await target().organization();
      await client.invalid([["body", member, ...rest]], "createApiKey", { body });
    });

    it("label, empty or with markup → stored and shown unchanged", async ({ client }) => {
      for (const label of ["", "<b>", "\r\nset-cookie: a=b", '"}', "\u202e"]) {
        const { headers, body } = await client.send("createApiKey", { body: { label } });
        expect([body, headers.get("set-cookie")]).toMatchObject([{ label }, null]);
      }
    });

    it("expires_at → 401 from then on", async ({ client }) => {
      for (let lifetimeMs = 1500; ; lifetimeMs *= 2) {
        const expiresAt = new Date(Date.now() + lifetimeMs).toISOString();
        const created = await client.call("createApiKey", { body: { label: "k", expires_at: expiresAt } });
        expect(created.expires_at).toBe(expiresAt);
        const holder = client.as(created.api_key);
        const { status } = await holder.send("listRobots");
        // On a busy machine the request may have arrived after the expiry, which proves nothing.
        if (Date.now() >= Date.parse(expiresAt)) continue;
        expect(status).toBe(200);
        await soon(async () => expect((await holder.send("listRobots")).status).toBe(401));
        expect(await holder.refused("Unauthorized", "listRobots")).toContain("expired");
        return;
      }
    });

    it("expires_at with an offset → the same time in UTC", async ({ client }) => {
      const body = { label: "k", expires_at: "2098-01-01T01:30:00+01:30" };
      expect((await client.call("createApiKey", { body })).expires_at).toBe("2098-01-01T00:00:00.000Z");
    });

    it("create with a restricted key → only keys that may do no more", async ({ client }) => {
      const restricted = await client.withKey({ scopes: ["api-keys:write", "robots:setup"] });
      const made = await restricted.call("createApiKey", { body: { label: "l", scopes: ["robots:setup"] } });
      await register(client.as(made.api_key), ["r1"]);
      for (const scopes of [undefined, null, ["robots:read"], [...GENERAL_SCOPES]]) {
        const { status } = await restricted.send("createApiKey", { body: { label: "l", scopes } });
        expect(status).toBeOneOf([403, 422]);
      }
    });
  });
}
