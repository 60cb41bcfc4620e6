import * as z from "zod";
import { expect, it } from "vitest";

import { apiKeyCreatedSchema, apiKeyListSchema } from "../../../../src/api/keys.ts";
import { loginDecidedSchema, loginStartedSchema, loginTokenSchema } from "../../../../src/api/logins.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { LINEAGE_DEPTH_MAXIMUM } from "../../../../src/service/kernel/auth/lineage.ts";
import { makeKey } from "../../../../src/service/keys/rules.ts";
import { openBackstage } from "../../../support/service/organizations.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const KEYS = "/v1/me/api-keys";
const VERIFIER = "v".repeat(43);
const HOUR_MS = 3_600_000;

async function scene(newStore: NewStore) {
  const location = await newStore();
  const running = await testService({ store: location });
  const call = (key: string | null, method: string, path: string, body?: object) =>
    fetch(running.url + path, {
      method,
      headers: { "content-type": "application/json", ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const create = async (key: string, body: object = {}) =>
    apiKeyCreatedSchema.parse(await (await call(key, "POST", KEYS, { label: "k", ...body })).json());
  const revoke = (id: string) => call(running.key, "DELETE", `${KEYS}/${id}`);
  const list = async () => apiKeyListSchema.parse(await (await call(running.key, "GET", KEYS)).json()).items;
  const statusOf = async (credential: string) => (await call(credential, "GET", "/v1/me/session")).status;
  /** Logs in a command line, approved with this credential. Resolves with the token of the session. */
  const logIn = async (credential: string) => {
    const body = { verifier: VERIFIER, callback_url: "http://127.0.0.1:1234/" };
    const { exchange_id: exchangeId } = loginStartedSchema.parse(
      await (await call(null, "POST", "/v1/cli/login/start", body)).json(),
    );
    const decision = await call(credential, "POST", "/v1/cli/login/decide", {
      exchange_id: exchangeId,
      decision: "approve",
    });
    const { redirect_url: redirectUrl } = loginDecidedSchema.parse(await decision.json());
    const code = new URL(redirectUrl).searchParams.get("code");
    const exchange = { exchange_id: exchangeId, code, verifier: VERIFIER };
    return loginTokenSchema.parse(await (await call(null, "POST", "/v1/cli/login/exchange", exchange)).json()).token;
  };
  /** The store, opened beside the service. */
  const storeOf = async () => {
    const { store, ...rest } = await openBackstage(location);
    const { id } = await store.reader.selectFrom("organizations").select("id").executeTakeFirstOrThrow();
    return { store, organization_id: id, [Symbol.asyncDispose]: () => rest[Symbol.asyncDispose]() };
  };
  return { running, call, create, revoke, list, statusOf, logIn, storeOf };
}

const inAnHour = () => new Date(Date.now() + HOUR_MS).toISOString();
const detailOf = async (answer: Response) => z.object({ detail: z.string() }).parse(await answer.json()).detail;

describeOnEachStore("keys created with keys", (newStore) => {
  it("parent expires → descendants expire no later, whatever they request", async () => {
    const { running, create } = await scene(newStore);
    const expiresAt = inAnHour();
    const parent = await create(running.key, { expires_at: expiresAt });
    const child = await create(parent.api_key);
    const grandchild = await create(child.api_key, { expires_at: "2099-01-01T00:00:00Z" });
    expect([child, grandchild]).toMatchObject([
      { expires_at: expiresAt, scopes: null, created_by: parent.id, parent_id: parent.id },
      { expires_at: expiresAt, scopes: null, created_by: child.id, parent_id: child.id },
    ]);
  });

  it("parent revoked → descendants are revoked, and sessions approved with them end", async () => {
    const { running, create, revoke, list, statusOf, logIn } = await scene(newStore);
    const parent = await create(running.key);
    const child = await create(parent.api_key);
    const grandchild = await create(child.api_key, { scopes: ["robots:read"] });
    const [session, sibling] = [await logIn(child.api_key), await create(running.key)];
    const credentials = [parent.api_key, child.api_key, grandchild.api_key, session];
    expect(await Promise.all(credentials.map(statusOf))).toEqual([200, 200, 200, 200]);
    expect((await revoke(parent.id)).status).toBe(200);
    expect(await Promise.all(credentials.map(statusOf))).toEqual([401, 401, 401, 401]);
    expect(await statusOf(sibling.api_key)).toBe(200);
    const [first, ...others] = (await list()).filter(({ revoked_at: revokedAt }) => revokedAt !== null);
    expect(others.map(({ revoked_at: revokedAt }) => revokedAt)).toEqual([first?.revoked_at, first?.revoked_at]);
    expect(running.log()).toMatch(/"keys_ended":2.*"api_key_revoked"/);
  });

  it("independent, created with an unrestricted key that never expires → outlives its parent", async () => {
    const { running, create, revoke, statusOf } = await scene(newStore);
    const parent = await create(running.key);
    const child = await create(parent.api_key, { independent: true, expires_at: inAnHour() });
    expect(child).toMatchObject({ created_by: parent.id, parent_id: null });
    await revoke(parent.id);
    expect(await statusOf(child.api_key)).toBe(200);
  });

  it.each([
    ["expires", { expires_at: inAnHour() }, "The API key expires, so it cannot make one that is independent of it"],
    [
      "is restricted",
      { scopes: ["api-keys:write"] },
      "The API key is restricted, so it cannot make one that is independent of it",
    ],
  ])("independent, created with a key that %s → 403", async (_what, of, detail) => {
    const { running, call, create, list } = await scene(newStore);
    const { api_key: apiKey } = await create(running.key, of);
    const body = { label: "k", scopes: ["api-keys:write"], independent: true };
    const refused = await call(apiKey, "POST", KEYS, body);
    expect([refused.status, await detailOf(refused)]).toEqual([403, detail]);
    expect(await list()).toHaveLength(2);
  });

  it("created with a session → child of the key behind it: outlasts a logout, ends with that key", async () => {
    const { running, call, create, revoke, statusOf, logIn } = await scene(newStore);
    const expiresAt = inAnHour();
    const approver = await create(running.key, { expires_at: expiresAt });
    const session = await logIn(approver.api_key);
    const createdKey = await create(session);
    expect(createdKey).toMatchObject({ expires_at: expiresAt, created_by: approver.id, parent_id: approver.id });
    const body = { label: "k", independent: true };
    expect((await call(session, "POST", KEYS, body)).status).toBe(403);
    expect((await call(session, "DELETE", "/v1/cli/session")).status).toBe(200);
    expect(await statusOf(createdKey.api_key)).toBe(200);
    await revoke(approver.id);
    expect(await statusOf(createdKey.api_key)).toBe(401);
  });

  it("lineage deeper than sixteen → 409; all end with the first", async () => {
    const { running, call, create, revoke, statusOf } = await scene(newStore);
    // An independent key starts a new lineage; otherwise the bootstrap key would count.
    const first = await create(running.key, { independent: true });
    let last = first;
    for (let createdKey = 1; createdKey < LINEAGE_DEPTH_MAXIMUM; createdKey += 1) last = await create(last.api_key);
    const refused = await call(last.api_key, "POST", KEYS, { label: "k" });
    expect(refused.status).toBe(409);
    expect(await create(last.api_key, { independent: true })).toMatchObject({ parent_id: null });
    await revoke(first.id);
    expect(await statusOf(last.api_key)).toBe(401);
  });

  it("thousands of descendants → all are revoked", async () => {
    const { running, create, revoke, statusOf, storeOf } = await scene(newStore);
    const first = await create(running.key);
    const sample = await create(first.api_key);
    await using backstage = await storeOf();
    const at = new Date().toISOString();
    const others = Array.from({ length: 2500 }, (_, index) => ({
      ...makeKey(
        { organization_id: backstage.organization_id, label: "k", scopes: null, expires_at: null },
        `key_${index}`,
        at,
        systemRandom,
      ).row,
      parent_id: index < 1500 ? first.id : sample.id,
    }));
    for (let from = 0; from < others.length; from += 500) {
      await backstage.store.write((transaction) =>
        transaction
          .insertInto("api_keys")
          .values(others.slice(from, from + 500))
          .execute(),
      );
    }
    await revoke(first.id);
    expect(await statusOf(sample.api_key)).toBe(401);
    const left = await backstage.store.reader
      .selectFrom("api_keys")
      .select("id")
      .where("revoked_at", "is", null)
      .execute();
    expect(left).toHaveLength(1);
    expect(running.log()).toContain('"keys_ended":2501');
  });

  it("created while the first of the lineage is revoked → refused or revoked", async () => {
    const { running, call, create, revoke, statusOf } = await scene(newStore);
    for (let round = 0; round < 8; round += 1) {
      const first = await create(running.key);
      const second = await create(first.api_key);
      const making = Array.from({ length: 4 }, () => call(second.api_key, "POST", KEYS, { label: "late" }));
      await revoke(first.id);
      for (const answer of await Promise.all(making)) {
        if (answer.status === 401) continue;
        const { api_key: apiKey } = apiKeyCreatedSchema.parse(await answer.json());
        expect(await statusOf(apiKey)).toBe(401);
      }
    }
  });
});
