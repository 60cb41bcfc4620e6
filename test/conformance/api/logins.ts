import { describe, expect } from "vitest";

import type { Client, Loc } from "./client.ts";
import { register } from "./registering.ts";
import type { Tests } from "./tests.ts";

const VERIFIER = "v".repeat(43);
const OTHER_VERIFIER = "w".repeat(43);
const CALLBACK = "http://127.0.0.1:43210/callback?state=abc";

const pollOf = (exchangeId: string, verifier = VERIFIER) => ({ body: { exchange_id: exchangeId, verifier } });
const exchangeOf = (exchangeId: string, code: string | null) => ({
  body: { exchange_id: exchangeId, code, verifier: VERIFIER },
});
const decisionOf = (exchangeId: string, decision: "approve" | "deny", delivery?: "redirect" | "poll") => ({
  body: { exchange_id: exchangeId, decision, delivery },
});

async function start(client: Client, callbackUrl: string = CALLBACK): Promise<string> {
  const { exchange_id: exchangeId, login_url } = await client
    .as(null)
    .call("startLogin", { body: { verifier: VERIFIER, callback_url: callbackUrl } });
  expect(login_url).toBe(`/login?exchange=${exchangeId}`);
  return exchangeId;
}

/** Approves a login; resolves with the code that the browser would bring to the callback. */
async function approve(client: Client, exchangeId: string): Promise<string> {
  const { status, redirect_url: redirectUrl } = await client.call("decideLogin", decisionOf(exchangeId, "approve"));
  expect(status).toBe("approved");
  const redirect = new URL(redirectUrl);
  expect([redirect.origin, redirect.pathname, redirect.searchParams.get("state")]).toEqual([
    "http://127.0.0.1:43210",
    "/callback",
    "abc",
  ]);
  return redirect.searchParams.get("code") ?? "";
}

async function logIn(client: Client): Promise<Client> {
  const exchangeId = await start(client);
  const code = await approve(client, exchangeId);
  const exchange = exchangeOf(exchangeId, code);
  return client.as((await client.as(null).call("exchangeLogin", exchange)).token);
}

export function loginsConformance({ target, it, itOnce }: Tests): void {
  describe("logins of a command line", () => {
    it("the code is exchanged for a token, once", async ({ client }) => {
      const exchangeId = await start(client);
      const code = await approve(client, exchangeId);
      const nobody = client.as(null);
      const exchange = exchangeOf(exchangeId, code);
      const { token } = await nobody.call("exchangeLogin", exchange);
      expect(token).not.toMatch(/^sk_/);
      await nobody.refused("Unauthorized", "exchangeLogin", exchange);
      await nobody.refused("Unauthorized", "pollLogin", pollOf(exchangeId));
      await register(client.as(token), ["r1"]);
      expect(await client.call("listRobots")).toHaveLength(1);
    });

    it("of many that exchange one code at once, one is given a token", async ({ client }) => {
      const exchangeId = await start(client);
      const exchange = exchangeOf(exchangeId, await approve(client, exchangeId));
      const sent = Array.from({ length: 8 }, () => client.as(null).send("exchangeLogin", exchange));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, ...Array.from({ length: 7 }, () => 401)]);
    });

    it("or the program polls, and is given the token when it was approved", async ({ client }) => {
      const exchangeId = await start(client);
      const poll = pollOf(exchangeId);
      const nobody = client.as(null);
      expect(await nobody.call("pollLogin", poll)).toMatchObject({ status: "pending" });
      // The first told how long to wait. On a busy machine that may be over when the next arrives.
      const slowDown = { status: "slow_down", interval: expect.any(Number) };
      await expect.poll(() => nobody.call("pollLogin", poll), { interval: 0 }).toMatchObject(slowDown);
    });

    it("a poll after the approval completes it, once", async ({ client }) => {
      const exchangeId = await start(client);
      await approve(client, exchangeId);
      const poll = pollOf(exchangeId);
      const answer = await client.as(null).call("pollLogin", poll);
      if (answer.status !== "complete") throw new Error(`poll answered ${answer.status}`);
      await client.as(answer.token).call("getSession");
      await client.as(null).refused("Unauthorized", "pollLogin", poll);
    });

    it("approved for the redirect, gives nothing to who polls, and the token to who has the code", async ({
      client,
    }) => {
      const exchangeId = await start(client);
      const decision = decisionOf(exchangeId, "approve", "redirect");
      const { redirect_url: redirectUrl } = await client.call("decideLogin", decision);
      const nobody = client.as(null);
      const poll = pollOf(exchangeId);
      expect(await nobody.call("pollLogin", poll)).toMatchObject({ status: "pending" });
      const code = new URL(redirectUrl).searchParams.get("code");
      await nobody.call("exchangeLogin", exchangeOf(exchangeId, code));
      await nobody.refused("Unauthorized", "pollLogin", poll);
    });

    it("approved for polling, gives nothing for a code", async ({ client }) => {
      const exchangeId = await start(client);
      const decision = decisionOf(exchangeId, "approve", "poll");
      const { redirect_url: redirectUrl } = await client.call("decideLogin", decision);
      const nobody = client.as(null);
      const code = new URL(redirectUrl).searchParams.get("code");
      await nobody.refused("Unauthorized", "exchangeLogin", exchangeOf(exchangeId, code));
      const poll = pollOf(exchangeId);
      expect(await nobody.call("pollLogin", poll)).toMatchObject({ status: "complete" });
    });

    it("is bound to its verifier and its code", async ({ client }) => {
      const exchangeId = await start(client);
      const code = await approve(client, exchangeId);
      const nobody = client.as(null);
      await nobody.refused("Unauthorized", "pollLogin", pollOf(exchangeId, OTHER_VERIFIER));
      const wrong = [
        { exchange_id: exchangeId, code, verifier: OTHER_VERIFIER },
        { exchange_id: exchangeId, code: `${code}x`, verifier: VERIFIER },
        { exchange_id: "login_00000000000000000000000000", code, verifier: VERIFIER },
      ];
      for (const body of wrong) await nobody.refused("Unauthorized", "exchangeLogin", { body });
      await nobody.call("exchangeLogin", exchangeOf(exchangeId, code));
    });

    it("denied is denied", async ({ client }) => {
      const exchangeId = await start(client);
      const { status, redirect_url: redirectUrl } = await client.call("decideLogin", decisionOf(exchangeId, "deny"));
      expect([status, new URL(redirectUrl).searchParams.get("code")]).toEqual(["denied", null]);
      await client.as(null).refused("Unauthorized", "pollLogin", pollOf(exchangeId));
      const { status: late } = await client.send("decideLogin", decisionOf(exchangeId, "approve"));
      expect(late).toBeGreaterThanOrEqual(400);
    });

    it("one organization decides; another comes too late", async () => {
      const [client, other] = [await target().organization(), await target().organization()];
      const exchangeId = await start(client);
      const code = await approve(client, exchangeId);
      const { status } = await other.send("decideLogin", decisionOf(exchangeId, "approve"));
      expect(status).toBeGreaterThanOrEqual(400);
      const exchange = exchangeOf(exchangeId, code);
      const { token } = await client.as(null).call("exchangeLogin", exchange);
      const [mine, theirs] = [await client.call("getSession"), await client.as(token).call("getSession")];
      expect(theirs.active_organization.id).toBe(mine.active_organization.id);
    });

    it("a restricted key cannot approve", async ({ client }) => {
      const { api_key: apiKey } = await client.call("createApiKey", {
        body: { label: "k", scopes: ["api-keys:write"] },
      });
      const exchangeId = await start(client);
      const decision = decisionOf(exchangeId, "approve");
      await client.as(apiKey).refused("Forbidden", "decideLogin", decision);
      await client.as(null).refused("Unauthorized", "decideLogin", decision);
    });

    it("a token tells who it is, and ends with its session", async ({ client }) => {
      const session = await logIn(client);
      const { active_organization: activeOrganization } = await session.call("getSession");
      expect((await client.call("getSession")).active_organization.id).toBe(activeOrganization.id);
      expect((await session.call("getAccount")).organization.id).toBe(activeOrganization.id);
      const ended = await session.call("endSession");
      expect(ended.id).toMatch(/^ses_/);
      for (let round = 0; round < 4; round += 1) await session.refused("Unauthorized", "getSession");
      await client.call("getSession");
    });

    it("a key is not ended by ending a session", async ({ client }) => {
      const { status } = await client.send("endSession");
      expect(status).toBeOneOf([403, 404, 409, 422]);
      await client.call("getSession");
    });

    it("a session that a revoked key approved is over", async ({ client }) => {
      const { id, api_key: apiKey } = await client.call("createApiKey", { body: { label: "k" } });
      const session = await logIn(client.as(apiKey));
      await session.call("getSession");
      await client.call("revokeApiKey", { path: { key_id: id } });
      await session.refused("Unauthorized", "getSession");
    });

    it("the account lists and counts keys that work, newest first", async ({ client }) => {
      const before = await client.call("getAccount");
      const { id } = await client.call("createApiKey", { body: { label: "k" } });
      const { api_keys: apiKeys, api_key_count: apiKeyCount } = await client.call("getAccount");
      expect(apiKeys.map((key) => key.id)).toEqual([id, ...before.api_keys.map((key) => key.id)]);
      expect(apiKeys[0]).toMatchObject({ label: "k" });
      expect(apiKeyCount).toBe(before.api_key_count + 1);
      await client.call("revokeApiKey", { path: { key_id: id } });
      expect(await client.call("getAccount")).toMatchObject({
        ...before,
        api_keys: before.api_keys.map((key) => ({ id: key.id })),
      });
    });

    it("the account shows a key no more than its lists would", async ({ client }) => {
      const { api_key: apiKey } = await client.call("createApiKey", { body: { label: "k", scopes: ["robots:setup"] } });
      expect(await client.as(apiKey).call("getAccount")).toMatchObject({ api_keys: [], api_key_count: 2 });
    });

    it("the account has no more than a hundred of many", async ({ client }) => {
      for (let made = 0; made < 101; made += 1) await client.call("createApiKey", { body: { label: `k${made}` } });
      const { api_keys: apiKeys, api_key_count: apiKeyCount } = await client.call("getAccount");
      expect([apiKeys.length, apiKeyCount, apiKeys[0]?.label]).toEqual([100, 102, "k100"]);
    });

    itOnce.each(["http://localhost:1/x", "http://[::1]:65535/", "http://127.0.0.1/"])(
      "callback %s: a program on the same computer",
      async (callbackUrl) => {
        const client = await target().organization();
        const exchangeId = await start(client, callbackUrl);
        const { redirect_url: redirectUrl } = await client.call("decideLogin", decisionOf(exchangeId, "approve"));
        expect(new URL(redirectUrl).host).toBe(new URL(callbackUrl).host);
      },
    );

    itOnce.each([
      "https://evil.example/",
      "http://evil.example/",
      "http://127.0.0.1.evil.example/",
      "http://localhost.evil.example/",
      "http://localhost@evil.example/",
      "http://user:pass@127.0.0.1/",
      "http://127.0.0.1\\@evil.example/",
      "//evil.example/",
      "javascript:alert(1)",
      "file:///etc/passwd",
      "http://[::ffff:8.8.8.8]/",
      "http://127.0.0.1:99999/",
      "http://127.0.0.1/\r\nset-cookie: a=b",
      "127.0.0.1",
      "",
    ])("callback %j is refused", async (callbackUrl) => {
      const client = await target().organization();
      const body = { verifier: VERIFIER, callback_url: callbackUrl };
      await client.as(null).invalid([["body", "callback_url"]], "startLogin", { body });
    });

    itOnce.each<[what: string, body: unknown, locs: readonly Loc[]]>([
      ["nothing", {}, [["verifier"], ["callback_url"]]],
      ["a verifier that can be guessed", { verifier: "x".repeat(31), callback_url: CALLBACK }, [["verifier"]]],
      ["an endless verifier", { verifier: "x".repeat(257), callback_url: CALLBACK }, [["verifier"]]],
    ])("start refuses %s", async (_what, body, locs) => {
      const where = locs.map((loc) => ["body", ...loc]);
      const client = await target().organization();
      const messages = await client.as(null).invalid(where, "startLogin", { body });
      expect(messages.join(" ")).not.toContain("x".repeat(31));
    });
  });
}
