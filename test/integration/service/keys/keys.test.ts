import { expect, it } from "vitest";

import { apiKeyCreatedSchema, apiKeyListSchema } from "../../../../src/api/keys.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { testFolder } from "../../../support/folder.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";
import { startSlowRequest } from "../../../support/service/slow-request.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

/** The system clock, ahead by what the test has advanced it. */
function advancedClock(): Clock & { advance(ms: number): void } {
  let aheadMs = 0;
  return {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs,
    advance(ms) {
      aheadMs += ms;
    },
  };
}

const KEYS = "/v1/me/api-keys";

async function create({ send }: RunningService, body: object) {
  const answer = await send("POST", KEYS, body);
  expect(answer.status).toBe(200);
  return apiKeyCreatedSchema.parse(await answer.json());
}

async function list({ send }: RunningService) {
  return apiKeyListSchema.parse(await (await send("GET", KEYS)).json()).items;
}

function as(running: RunningService, key: string, method: string, path: string, body?: object): Promise<Response> {
  return fetch(running.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

describeOnEachStore("API keys", (newStore) => {
  it("last_used_at → stored when the service stops, and only increases", async () => {
    const [clock, store] = [advancedClock(), await newStore()];
    const dataDirectory = testFolder("api-keys");
    const use = async (key: string) => {
      await using running = await startService({ store, dataDirectory, clock });
      expect((await as(running, key, "GET", "/v1/robots")).status).toBe(200);
    };
    const { id, api_key: apiKey } = await (async () => {
      await using running = await startService({ store, dataDirectory, clock });
      const created = await create(running, { label: "k" });
      expect((await list(running)).at(-1)?.last_used_at).toBeNull();
      return created;
    })();
    const beforeMs = clock.wallMs();
    await use(apiKey);
    const afterMs = clock.wallMs();
    clock.advance(-3_600_000);
    await use(apiKey);
    await using running = await startService({ store, dataDirectory, clock });
    const notedMs = Date.parse((await list(running)).find((key) => key.id === id)?.last_used_at ?? "");
    expect(notedMs).toBeGreaterThanOrEqual(beforeMs);
    expect(notedMs).toBeLessThanOrEqual(afterMs);
  });

  it("restricted key creates a key → with no more scopes and no later expiry than its own", async () => {
    const running = await testService({ store: await newStore() });
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const scopes = ["api-keys:write", "robots:setup"];
    const { api_key: apiKey } = await create(running, { label: "k", scopes, expires_at: expiresAt });
    const make = (body: object) => as(running, apiKey, "POST", KEYS, { label: "l", ...body });
    const made = apiKeyCreatedSchema.parse(await (await make({ scopes: ["robots:setup", "robots:setup"] })).json());
    expect([made.scopes, made.expires_at]).toEqual([["robots:setup"], expiresAt]);
    const soon = new Date(Date.now() + 60_000).toISOString();
    const sooner = apiKeyCreatedSchema.parse(await (await make({ scopes, expires_at: soon })).json());
    expect(sooner.expires_at).toBe(soon);
    for (const body of [{}, { scopes: null }, { scopes: ["fleets:write"] }])
      expect((await make(body)).status).toBe(403);
  });

  it("restricted key revokes a key → only one that may do no more than itself", async () => {
    const running = await testService({ store: await newStore() });
    const scopes = ["api-keys:write", "robots:setup"];
    const [restricted, lesser] = [
      await create(running, { label: "k", scopes }),
      await create(running, { label: "l", scopes: ["robots:setup"] }),
    ];
    const bootstrap = (await list(running))[0]?.id ?? "";
    const revoke = (id: string) => as(running, restricted.api_key, "DELETE", `${KEYS}/${id}`);
    expect((await revoke(bootstrap)).status).toBe(403);
    expect((await revoke(lesser.id)).status).toBe(200);
    expect((await list(running)).map(({ revoked_at: revokedAt }) => revokedAt !== null)).toEqual([false, false, true]);
  });

  it("revoked before the body of its request arrives → creates no key", async () => {
    const running = await testService({ store: await newStore() });
    const { id, api_key: apiKey } = await create(running, { label: "stolen" });
    const request = await startSlowRequest(running.url + KEYS, apiKey, { label: "to outlive it" });
    expect((await running.send("DELETE", `${KEYS}/${id}`)).status).toBe(200);
    expect(await request.finish()).toMatchObject({ status: 401 });
    expect((await list(running)).map(({ label }) => label)).toEqual(["bootstrap", "stolen"]);
  });

  it("last unrestricted key revoked → allowed, and the log says how to create another", async () => {
    const running = await testService({ store: await newStore() });
    const bootstrap = (await list(running))[0]?.id ?? "";
    const other = apiKeyCreatedSchema.parse(
      await (await running.send("POST", `${KEYS}/${bootstrap}/rotate`, {})).json(),
    );
    await as(running, other.api_key, "DELETE", `${KEYS}/${bootstrap}`);
    expect(running.log()).not.toContain("no_unrestricted_api_key_left");
    await as(running, other.api_key, "DELETE", `${KEYS}/${other.id}`);
    expect(running.log()).toContain("no_unrestricted_api_key_left");
    expect(running.log()).toContain("robot-policy-service keys create");
  });

  it("no request writes a key to the log", async () => {
    const running = await testService({ store: await newStore() });
    const { api_key: apiKey, id } = await create(running, { label: "k" });
    await as(running, apiKey, "GET", "/v1/robots");
    await as(running, apiKey, "DELETE", `${KEYS}/${id}`);
    await as(running, apiKey, "GET", "/v1/robots");
    expect(running.log()).toContain(id);
    expect(running.log()).not.toContain(apiKey.slice(0, 20));
  });
});
