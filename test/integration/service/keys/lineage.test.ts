import { expect, it } from "vitest";

import { apiKeyCreatedSchema, apiKeyListSchema, apiKeyRotatedSchema } from "../../../../src/api/keys.ts";
import { loginDecidedSchema, loginStartedSchema, loginTokenSchema } from "../../../../src/api/logins.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { LINEAGE_DEPTH_MAXIMUM } from "../../../../src/service/kernel/auth/lineage.ts";
import { makeKey } from "../../../../src/service/keys/keys.ts";
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
  const rotate = async (key: string, id: string, body: object = {}) =>
    apiKeyRotatedSchema.parse(await (await call(key, "POST", `${KEYS}/${id}/rotate`, body)).json());
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
  return { running, call, create, rotate, revoke, list, statusOf, logIn, storeOf };
}

const inAnHour = () => new Date(Date.now() + HOUR_MS).toISOString();

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

  it("rotated → the new key has label, scopes, parent and expiry; what the former one made depends on the new one", async () => {
    const { running, create, rotate, revoke, list, statusOf, logIn } = await scene(newStore);
    const expiresAt = inAnHour();
    const former = await create(running.key, { label: "operator", expires_at: expiresAt });
    const child = await create(former.api_key, { scopes: ["robots:write"] });
    const session = await logIn(former.api_key);
    const { api_key: apiKey, ...rotated } = await rotate(running.key, former.id, { overlap_s: 0 });
    const same = { label: "operator", scopes: null, parent_id: former.parent_id, expires_at: expiresAt };
    expect(rotated).toMatchObject({ ...same, former_key_id: former.id });
    const credentials = [former.api_key, apiKey, child.api_key, session];
    expect(await Promise.all(credentials.map(statusOf))).toEqual([401, 200, 200, 200]);
    expect((await list()).find(({ id }) => id === child.id)?.parent_id).toBe(rotated.id);
    await revoke(former.id);
    expect(await Promise.all(credentials.map(statusOf))).toEqual([401, 200, 200, 200]);
    await revoke(rotated.id);
    expect(await Promise.all(credentials.map(statusOf))).toEqual([401, 401, 401, 401]);
    expect(running.log()).not.toContain(apiKey.slice(0, 20));
  });

  it("rotated with an overlap → both work; the former one ends then, and no later than before", async () => {
    const { running, create, rotate, statusOf } = await scene(newStore);
    const former = await create(running.key);
    const before = Date.now();
    const { api_key: apiKey, former_expires_at: until } = await rotate(running.key, former.id);
    expect(Date.parse(until) - before).toBeGreaterThanOrEqual(24 * HOUR_MS);
    expect(await Promise.all([former.api_key, apiKey].map(statusOf))).toEqual([200, 200]);
    const expiresAt = inAnHour();
    const brief = await create(running.key, { expires_at: expiresAt });
    expect((await rotate(running.key, brief.id)).former_expires_at).toBe(expiresAt);
  });

  it("rotate → only itself and what ends with it, unless it may do everything for ever", async () => {
    const { running, call, create, revoke } = await scene(newStore);
    const scopes = ["api-keys:write", "robots:read"];
    const [other, equal] = [
      await create(running.key, { scopes: ["robots:read"] }),
      await create(running.key, { scopes }),
    ];
    const rotateAs = async (key: string, id: string) => (await call(key, "POST", `${KEYS}/${id}/rotate`, {})).status;
    for (const own of [await create(running.key, { scopes }), await create(running.key, { expires_at: inAnHour() })]) {
      const child = await create(own.api_key, { scopes: ["robots:read"] });
      for (const { id } of [other, equal]) expect(await rotateAs(own.api_key, id)).toBe(403);
      for (const { id } of [child, own]) expect(await rotateAs(own.api_key, id)).toBe(200);
    }
    expect(await rotateAs(other.api_key, other.id)).toBe(403);
    expect(await rotateAs(running.key, "key_none")).toBe(404);
    await revoke(equal.id);
    expect(await rotateAs(running.key, equal.id)).toBe(409);
    const enrollment = { scopes: ["robots:enroll"], expires_at: inAnHour(), enrollment: { uses: 2 } };
    expect(await rotateAs(running.key, (await create(running.key, enrollment)).id)).toBe(409);
  });

  it("created with a session → child of the key behind it: outlasts a logout, ends with that key", async () => {
    const { running, call, create, revoke, statusOf, logIn } = await scene(newStore);
    const expiresAt = inAnHour();
    const approver = await create(running.key, { expires_at: expiresAt });
    const session = await logIn(approver.api_key);
    const createdKey = await create(session);
    expect(createdKey).toMatchObject({ expires_at: expiresAt, created_by: approver.id, parent_id: approver.id });
    expect((await call(session, "DELETE", "/v1/cli/session")).status).toBe(200);
    expect(await statusOf(createdKey.api_key)).toBe(200);
    await revoke(approver.id);
    expect(await statusOf(createdKey.api_key)).toBe(401);
  });

  it("lineage deeper than sixteen → 409; all end with the first", async () => {
    const { running, call, create, revoke, statusOf } = await scene(newStore);
    const first = await create(running.key);
    let last = first;
    // The bootstrap key counts as well.
    for (let createdKey = 2; createdKey < LINEAGE_DEPTH_MAXIMUM; createdKey += 1) last = await create(last.api_key);
    const refused = await call(last.api_key, "POST", KEYS, { label: "k" });
    expect(refused.status).toBe(409);
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
