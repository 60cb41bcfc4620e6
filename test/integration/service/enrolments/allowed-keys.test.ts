/** The list of allowed keys at its bounds and under races; what clients see of it is in test/conformance/api. */
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";

import { allowedKeyListSchema } from "../../../../src/api/allowed-keys.ts";
import { addAllowed } from "../../../../src/service/enrolments/allowed-keys.ts";
import type { AllowedKeyRow } from "../../../../src/service/enrolments/allowed-keys.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { sharedPostgres, WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { describeOnEachStore, usePostgres } from "../../../support/service/stores.ts";
import { openScene } from "./scene.ts";

const NOW = "2026-06-01T12:00:00.000Z";
const idSchema = z.object({ id: z.string() });

describeOnEachStore("the list of allowed keys", (newStore) => {
  it("entries that are there already take no further room", async () => {
    await using store = await openStore(await newStore(), testMachine);
    const rows = (...fingerprints: string[]) =>
      fingerprints.map((fingerprint): AllowedKeyRow => ({
        id: `akey_${fingerprint}`,
        organization_id: "org_1",
        key_fingerprint: fingerprint,
        created_at: NOW,
        expires_at: NOW,
        created_by: "key_1",
        made_by: "key_1",
        used_at: null,
        robot_id: null,
      }));
    const add = (...fingerprints: string[]) =>
      store.write((transaction) => addAllowed(transaction, "org_1", rows(...fingerprints), 3));
    await store.write((transaction) =>
      transaction.insertInto("organizations").values({ id: "org_1", name: "lab", created_at: NOW }).execute(),
    );
    expect(await add("a", "b", "c")).toBe(true);
    expect(await add("a", "b", "c")).toBe(true);
    expect(await add("c", "d")).toBe(false);
  });
});

describe.skipIf(WITHOUT_POSTGRES)("an allowed key that is taken back while its computer starts", () => {
  const { withSchema } = usePostgres();

  it.each([
    ["removed", "DELETE", "/v1/robot-allowed-keys/"],
    ["its API key is revoked", "DELETE", "/v1/me/api-keys/"],
  ])("%s: the computer gets no credential", async (_what, method, path) => {
    const location = await withSchema();
    const { running, computer } = await openScene(location);
    const robot = computer();
    const made = await running.send("POST", "/v1/me/api-keys", { label: "leaked", scopes: ["robots:write"] });
    const { api_key: apiKey, id: keyId } = idSchema.extend({ api_key: z.string() }).parse(await made.json());
    const body = { keys: [robot.publicKey], expires_at: new Date(Date.now() + 86_400_000).toISOString() };
    expect((await robot.send("POST", "/v1/robot-allowed-keys", body, apiKey)).status).toBe(200);
    const listed = await running.send("GET", "/v1/robot-allowed-keys");
    const [entry] = allowedKeyListSchema.parse(await listed.json()).items;

    const connect = async () => (await sharedPostgres()).connect(location.url);
    const [holder, watcher] = [await connect(), await connect()];
    for (const client of [holder, watcher]) onTestFinished(() => client.end());
    const waiting = `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock'
      and query like $1 and datname = current_database()`;
    const waits = (text: string) =>
      expect
        .poll(async () => (await watcher.query<{ count: number }>(waiting, [text])).rows[0]?.count, {
          timeout: PATIENCE_MS,
        })
        .toBe(1);
    await holder.query("begin");
    await holder.query("lock table audit_log in share mode");
    const starting = robot.start();
    await waits("%insert into%audit_log%");
    const id = path.includes("me/api-keys") ? keyId : entry?.id;
    const removing = running.send(method, `${path}${id}`);
    await waits("delete from%allowed_keys%");
    await holder.query("commit");
    const started = await starting;
    expect((await removing).status).toBe(200);
    expect(started.approval_required).toBe(false);
    expect(await robot.poll(started)).toEqual({ status: "denied" });
  });
});
