/** Allowed keys: limits and races. test/conformance/api covers what clients see. */
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";

import { ALLOWED_KEY_DAYS, allowedKeyListSchema } from "../../../../src/api/allowed-keys.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { addAllowed, type AllowedKeyRow } from "../../../../src/service/enrolments/allowed-keys.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { sharedPostgres, WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { describeOnEachStore, usePostgres } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";
import { openScene } from "./scene.ts";

const NOW = "2026-06-01T12:00:00.000Z";
const idSchema = z.object({ id: z.string() });

describeOnEachStore("allowed keys", (newStore) => {
  async function organizations(...ids: readonly string[]) {
    const store = await openStore(await newStore(), testMachine);
    onTestFinished(() => store[Symbol.asyncDispose]());
    const rows = (organizationId: string, fingerprints: readonly string[]) =>
      fingerprints.map((fingerprint): AllowedKeyRow => ({
        id: `akey_${organizationId}_${fingerprint}`,
        organization_id: organizationId,
        key_fingerprint: fingerprint,
        created_at: NOW,
        expires_at: NOW,
        created_by: "key_1",
        made_by: "key_1",
        used_at: null,
        robot_id: null,
      }));
    const values = ids.map((id) => ({ id, name: id, created_at: NOW }));
    await store.write((transaction) => transaction.insertInto("organizations").values(values).execute());
    return (id: string, ...fingerprints: readonly string[]) =>
      store.write((transaction) => addAllowed(transaction, id, rows(id, fingerprints), 3));
  }

  it("adding existing entries again → counts once against the maximum", async () => {
    const add = await organizations("org_1");
    expect(await add("org_1", "a", "b", "c")).toBe(true);
    expect(await add("org_1", "a", "b", "c")).toBe(true);
    expect(await add("org_1", "c", "d")).toBe(false);
  });

  it("concurrent requests → the maximum holds for each organization", async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `org_${index}`);
    const add = await organizations(...ids);
    const added = await Promise.all(ids.map((id) => Promise.all([add(id, "a", "b"), add(id, "c", "d")])));
    expect(added.map((both) => both.toSorted())).toEqual(ids.map(() => [false, true]));
  });
});

it("expires_at: later than now, at most the longest time → 200, else 422", async () => {
  const nowMs = Date.parse(NOW);
  const clock = { ...systemClock, wallMs: () => nowMs };
  const running = await testService({ clock });
  const keys = ["SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"];
  const longestMs = ALLOWED_KEY_DAYS.maximum * 86_400_000;
  const statuses = [0, 1, longestMs, longestMs + 1].map(async (aheadMs) => {
    const body = { keys, expires_at: new Date(nowMs + aheadMs).toISOString() };
    return (await running.send("POST", "/v1/robot-allowed-keys", body)).status;
  });
  expect(await Promise.all(statuses)).toEqual([422, 200, 200, 422]);
});

it("API key that added the entry expires before it → the list says so, and a later computer waits for approval", async () => {
  const { running, advance, computer } = await openScene(undefined);
  const [allowed, late] = [computer(), computer()];
  const ahead = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const ends = ahead(1);
  const made = await running.send("POST", "/v1/me/api-keys", {
    label: "for a day",
    scopes: ["robots:write"],
    expires_at: ends,
  });
  const { api_key: apiKey } = z.object({ api_key: z.string() }).parse(await made.json());
  const body = { keys: [allowed.publicKey, late.publicKey], expires_at: ahead(7) };
  expect((await allowed.send("POST", "/v1/robot-allowed-keys", body, apiKey)).status).toBe(200);
  const listed = z.object({ items: z.array(z.object({ expires_at: z.string() })) });
  const { items } = listed.parse(await (await running.send("GET", "/v1/robot-allowed-keys")).json());
  expect(items).toEqual([{ expires_at: ends }, { expires_at: ends }]);
  expect((await allowed.start()).approval_required).toBe(false);
  advance(86_400_000);
  expect((await late.start({ requested_name: "arm-2" })).approval_required).toBe(true);
});

describe.skipIf(WITHOUT_POSTGRES)(
  "allowed key withdrawn while its computer starts an enrolment",
  { tags: "needs/postgres" },
  () => {
    const { withSchema } = usePostgres();

    it.each([
      ["the entry is removed", "DELETE", "/v1/robot-allowed-keys/"],
      ["the API key that added it is revoked", "DELETE", "/v1/me/api-keys/"],
    ])("%s → the computer gets no credential", async (_what, method, path) => {
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
      const { rows } = await watcher.query("select status from enrolments");
      expect(rows).toEqual([{ status: "denied" }]);
    });
  },
);
