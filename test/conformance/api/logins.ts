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

/** Approves a login; resolves with the code that the browser takes to the callback. */
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
    it("exchange → a token for the code, once", async ({ client }) => {
      const exchangeId = await start(client);
      const code = await approve(client, exchangeId);
      const anonymous = client.as(null);
      const exchange = exchangeOf(exchangeId, code);
      const { token } = await anonymous.call("exchangeLogin", exchange);
      expect(token).not.toMatch(/^sk_/);
      await anonymous.refused("Unauthorized", "exchangeLogin", exchange);
      await anonymous.refused("Unauthorized", "pollLogin", pollOf(exchangeId));
      await register(client.as(token), ["r1"]);
      expect(await client.call("listRobots")).toHaveLength(1);
    });

    it("concurrent exchanges of one code → one gets a token", async ({ client }) => {
      const exchangeId = await start(client);
      const exchange = exchangeOf(exchangeId, await approve(client, exchangeId));
      const sent = Array.from({ length: 8 }, () => client.as(null).send("exchangeLogin", exchange));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, ...Array.from({ length: 7 }, () => 401)]);
    });

    it("poll before the decision → pending, then slow_down", async ({ client }) => {
      const exchangeId = await start(client);
      const poll = pollOf(exchangeId);
      const anonymous = client.as(null);
      expect(await anonymous.call("pollLogin", poll)).toMatchObject({ status: "pending" });
      // The first answer sets an interval, which may be over on a busy machine when the next poll arrives.
      const slowDown = { status: "slow_down", interval: expect.any(Number) };
      await expect.poll(() => anonymous.call("pollLogin", poll), { interval: 0 }).toMatchObject(slowDown);
    });

    it("poll after the approval → a token, once", async ({ client }) => {
      const exchangeId = await start(client);
      await approve(client, exchangeId);
      const poll = pollOf(exchangeId);
      const answer = await client.as(null).call("pollLogin", poll);
      if (answer.status !== "complete") throw new Error(`poll answered ${answer.status}`);
      await client.as(answer.token).call("getSession");
      await client.as(null).refused("Unauthorized", "pollLogin", poll);
    });

    it("approved for redirect → polls stay pending, the code gives the token", async ({ client }) => {
      const exchangeId = await start(client);
      const decision = decisionOf(exchangeId, "approve", "redirect");
      const { redirect_url: redirectUrl } = await client.call("decideLogin", decision);
      const anonymous = client.as(null);
      const poll = pollOf(exchangeId);
      expect(await anonymous.call("pollLogin", poll)).toMatchObject({ status: "pending" });
      const code = new URL(redirectUrl).searchParams.get("code");
      await anonymous.call("exchangeLogin", exchangeOf(exchangeId, code));
      await anonymous.refused("Unauthorized", "pollLogin", poll);
    });

    it("approved for poll → the code gives nothing, the poll completes", async ({ client }) => {
      const exchangeId = await start(client);
      const decision = decisionOf(exchangeId, "approve", "poll");
      const { redirect_url: redirectUrl } = await client.call("decideLogin", decision);
      const anonymous = client.as(null);
      const code = new URL(redirectUrl).searchParams.get("code");
      await anonymous.refused("Unauthorized", "exchangeLogin", exchangeOf(exchangeId, code));
      const poll = pollOf(exchangeId);
      expect(await anonymous.call("pollLogin", poll)).toMatchObject({ status: "complete" });
    });

    it("wrong verifier, code or id → 401", async ({ client }) => {
      const exchangeId = await start(client);
      const code = await approve(client, exchangeId);
      const anonymous = client.as(null);
      await anonymous.refused("Unauthorized", "pollLogin", pollOf(exchangeId, OTHER_VERIFIER));
      const wrong = [
        { exchange_id: exchangeId, code, verifier: OTHER_VERIFIER },
        { exchange_id: exchangeId, code: `${code}x`, verifier: VERIFIER },
        { exchange_id: "login_00000000000000000000000000", code, verifier: VERIFIER },
      ];
      for (const body of wrong) await anonymous.refused("Unauthorized", "exchangeLogin", { body });
      await anonymous.call("exchangeLogin", exchangeOf(exchangeId, code));
    });

    it("denied → no code, 401, and no later approval", async ({ client }) => {
      const exchangeId = await start(client);
      const { status, redirect_url: redirectUrl } = await client.call("decideLogin", decisionOf(exchangeId, "deny"));
      expect([status, new URL(redirectUrl).searchParams.get("code")]).toEqual(["denied", null]);
      await client.as(null).refused("Unauthorized", "pollLogin", pollOf(exchangeId));
      const { status: late } = await client.send("decideLogin", decisionOf(exchangeId, "approve"));
      expect(late).toBeGreaterThanOrEqual(400);
    });

    it("decision of a second organization → refused", async () => {
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

    it("decision with a restricted key → 403", async ({ client }) => {
      const restricted = await client.withKey({ scopes: ["api-keys:write"] });
      const exchangeId = await start(client);
      const decision = decisionOf(exchangeId, "approve");
      await restricted.refused("Forbidden", "decideLogin", decision);
      await client.as(null).refused("Unauthorized", "decideLogin", decision);
    });

    it("session token → shows its organization, and ends with its session", async ({ client }) => {
      const session = await logIn(client);
      const { active_organization: activeOrganization } = await session.call("getSession");
      expect((await client.call("getSession")).active_organization.id).toBe(activeOrganization.id);
      expect((await session.call("getAccount")).organization.id).toBe(activeOrganization.id);
      const ended = await session.call("endSession");
      expect(ended.id).toMatch(/^ses_/);
      for (let round = 0; round < 4; round += 1) await session.refused("Unauthorized", "getSession");
      await client.call("getSession");
    });

    it("end the session with an API key → refused, the key still works", async ({ client }) => {
      expect((await client.send("endSession")).status).toBe(403);
      await client.call("getSession");
    });

    it("account → working keys with their count, newest first", async ({ client }) => {
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

    it("account with a restricted key → no keys that it may not list", async ({ client }) => {
      const restricted = await client.withKey({ scopes: ["robots:setup"] });
      expect(await restricted.call("getAccount")).toMatchObject({ api_keys: [], api_key_count: 2 });
    });

    it("account with more than 100 keys → the newest 100, and the full count", async ({ client }) => {
      for (let made = 0; made < 101; made += 1) await client.call("createApiKey", { body: { label: `k${made}` } });
      const { api_keys: apiKeys, api_key_count: apiKeyCount } = await client.call("getAccount");
      expect([apiKeys.length, apiKeyCount, apiKeys[0]?.label]).toEqual([100, 102, "k100"]);
    });

    itOnce.each(["http://localhost:1/x", "http://[::1]:65535/", "http://127.0.0.1/"])(
      "callback %s on the same computer → accepted",
      async (callbackUrl) => {
        const client = await target().organization();
        const exchangeId = await start(client, callbackUrl);
        const { redirect_url: redirectUrl } = await client.call("decideLogin", decisionOf(exchangeId, "approve"));
        expect(new URL(redirectUrl).host).toBe(new URL(callbackUrl).host);
      },
    );

    itOnce.each<[what: string, body: unknown, locs: readonly Loc[]]>([
      ["no members", {}, [["verifier"], ["callback_url"]]],
      ["a short verifier", { verifier: "x".repeat(31), callback_url: CALLBACK }, [["verifier"]]],
      ["a long verifier", { verifier: "x".repeat(257), callback_url: CALLBACK }, [["verifier"]]],
      ["a callback elsewhere", { verifier: VERIFIER, callback_url: "https://evil.example/" }, [["callback_url"]]],
    ])("start with %s → 422", async (_what, body, locs) => {
      const where = locs.map((loc) => ["body", ...loc]);
      const client = await target().organization();
      const messages = await client.as(null).invalid(where, "startLogin", { body });
      expect(messages.join(" ")).not.toContain("x".repeat(31));
    });
  });
}
