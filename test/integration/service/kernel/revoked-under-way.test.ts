import { Client } from "pg";
import * as z from "zod";
import { expect, it, onTestFinished } from "vitest";

import { apiKeyCreatedSchema } from "../../../../src/api/keys.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { startSlowRequest } from "../../../support/service/slow-request.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const KEYS = "/v1/me/api-keys";
const DIGEST = `sha256:${"0".repeat(64)}`;

/** A service, and an unrestricted key that tests revoke during its requests. */
async function scene(newStore: NewStore) {
  const store = await newStore();
  const running = await testService({ store });
  const made = await running.send("POST", KEYS, { label: "k" });
  const { id, api_key: apiKey } = apiKeyCreatedSchema.parse(await made.json());
  return {
    store,
    running,
    id,
    api_key: apiKey,
    begin: (path: string, body: object) => startSlowRequest(running.url + path, apiKey, body),
    revoke: async () => expect((await running.send("DELETE", `${KEYS}/${id}`)).status).toBe(200),
    /** Actions of the key in the audit log. */
    actionsOfKey: async () => {
      const { items } = auditSchema.parse(await (await running.send("GET", "/v1/me/audit")).json());
      return items.filter(({ actor }) => actor.id === id).map(({ action }) => action);
    },
  };
}

const auditSchema = z.object({
  items: z.array(z.object({ action: z.string(), actor: z.looseObject({ id: z.string() }) })),
});

describeOnEachStore("key revoked during its request", (newStore) => {
  it.each([
    ["/v1/robots/setup", { name: "r", robot_type_id: "t", region: "us-west-2", configuration_digest: DIGEST }],
    [
      "/v1/fleets",
      {
        name: "f",
        subject: "pi",
        selection: { robots: ["r"] },
        peak_active_robots: 1,
        readiness_mode: "always_ready",
      },
    ],
    ["/v1/fleets/fleet_00000000000000000000000000/model", { subject: "pi" }],
    ["/v1/me/deployments", { model: "pi", robot: "r" }],
    [KEYS, { label: "another" }],
    ["/v1/cli/login/decide", { exchange_id: "login_00000000000000000000000000", decision: "approve" }],
  ])("POST %s → 401, and nothing is committed", async (path, body) => {
    const { running, begin, revoke, actionsOfKey } = await scene(newStore);
    const request = await begin(path, body);
    await revoke();
    expect(await request.finish()).toMatchObject({
      status: 401,
      body: expect.stringContaining("The credential ended while the request was under way"),
    });
    expect(await actionsOfKey()).toEqual([]);
    expect(await (await running.send("GET", "/v1/robots")).json()).toEqual([]);
  });

  it("write in progress with the key → the revocation waits for it; updates of last_used_at wait for nothing", async ({
    skip,
  }) => {
    const { store, running, id, api_key: apiKey, revoke } = await scene(newStore);
    if (store.kind !== "postgres") return skip("SQLite has one writer");
    const [writer, other] = [new Client(store.url), new Client(store.url)];
    for (const client of [writer, other]) {
      await client.connect();
      onTestFinished(() => client.end());
    }
    await other.query("begin");
    await other.query("update api_keys set last_used_at = '2026' where id = $1", [id]);
    // Writes with the key do not wait for that update.
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const body = JSON.stringify({ name: "r", robot_type_id: "t", region: "us-west-2", configuration_digest: DIGEST });
    expect((await fetch(`${running.url}/v1/robots/setup`, { method: "POST", headers, body })).status).toBe(200);
    await other.query("commit");
    await writer.query("begin");
    await writer.query("select 1 from api_keys where id = $1 for key share", [id]);
    let isRevoked = false;
    const revoked = revoke().then(() => (isRevoked = true));
    const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await expect.poll(async () => (await other.query(waits)).rowCount, { timeout: PATIENCE_MS }).toBe(1);
    expect(isRevoked).toBe(false);
    await writer.query("commit");
    await revoked;
  });

  it("batched with writes of other keys → those are committed, these are not", async () => {
    const { running, begin, revoke, actionsOfKey } = await scene(newStore);
    const setup = (name: string) => ({ name, robot_type_id: "t", region: "us-west-2", configuration_digest: DIGEST });
    const late = await Promise.all(
      Array.from({ length: 4 }, (_, index) => begin("/v1/robots/setup", setup(`l${index}`))),
    );
    await revoke();
    const [lateAnswers, others] = await Promise.all([
      Promise.all(late.map((request) => request.finish())),
      Promise.all(
        Array.from({ length: 4 }, (_, index) => running.send("POST", "/v1/robots/setup", setup(`r${index}`))),
      ),
    ]);
    expect(lateAnswers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await actionsOfKey()).toEqual([]);
  });
});
