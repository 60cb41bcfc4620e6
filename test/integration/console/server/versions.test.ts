import { expect, it, onTestFinished } from "vitest";

import { apiKeyCreatedSchema } from "../../../../src/api/keys.ts";
import { createVersions } from "../../../../src/console/server/versions.ts";
import { type Topic, TOPICS, type Versions } from "../../../../src/console/topics.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../../src/service/kernel/store/tables.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { openBackstage } from "../../../support/service/organizations.ts";
import { fleetRow, installationRow, robotRow } from "../../../support/service/rows.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const SOON = { timeout: PATIENCE_MS, interval: 50 } as const;
/** A robot is online for this long after a heartbeat. */
const WINDOW_MS = 10_000;
const PRESENCE = ["robots", "fleets"];

function changesOf(before: Versions, now: Versions): readonly Topic[] {
  return TOPICS.filter((topic) => before[topic] !== now[topic]);
}

describeOnEachStore("GET /console/versions", (newStore) => {
  it("change → its topics differ, for its organization and whoever may read them", async () => {
    const store = await newStore();
    const running = await testService({ store, configuration: { consoleFolder: "/nowhere" } });
    await using backstage = await openBackstage(store);
    const made = await running.send("POST", "/v1/me/api-keys", {
      label: "k",
      scopes: ["robots:read", "api-keys:read"],
    });
    const restricted = apiKeyCreatedSchema.parse(await made.json());
    const ask = async (key: string): Promise<Versions> => {
      const answer = await fetch(`${running.url}/console/versions`, { headers: { authorization: `Bearer ${key}` } });
      expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
      return (await answer.json()) as Versions;
    };
    const other = await backstage.organization();
    const keys = [running.key, restricted.api_key, other];
    const before = await Promise.all(keys.map(ask));
    expect(before.map((versions) => Object.keys(versions))).toEqual([TOPICS, ["robots", "keys"], TOPICS]);
    const setup = { name: "arm", robot_type_id: "so101", region: "us-west-2" };
    await running.send("POST", "/v1/robots/setup", { ...setup, configuration_digest: `sha256:${"0".repeat(64)}` });
    const changes = async () => {
      const now = await Promise.all(keys.map(ask));
      return now.map((versions, index) => changesOf(before[index] ?? {}, versions));
    };
    await expect.poll(changes, SOON).toEqual([["robots", "fleets"], ["robots"], []]);
    await running.send("DELETE", `/v1/me/api-keys/${restricted.id}`);
    const headers = { authorization: `Bearer ${restricted.api_key}` };
    expect((await fetch(`${running.url}/console/versions`, { headers })).status).toBe(401);
  });
});

describeOnEachStore("versions of topics", (newStore) => {
  /** A store with two organizations, and a clock that the test advances. */
  async function scene() {
    const backstage = await openBackstage(await newStore());
    onTestFinished(() => backstage[Symbol.asyncDispose]());
    const { store } = backstage;
    await backstage.organizations(2);
    const organizations = await store.reader.selectFrom("organizations").select("id").orderBy("id").execute();
    const [own = "", other = ""] = organizations.map(({ id }) => id);
    let nowMs = Date.now();
    const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs, sleep: async () => {} };
    const versionsOf = createVersions(store, { clock }, WINDOW_MS);
    let before = await versionsOf(own);
    /** The topics that changed since the call before. */
    const next = async (laterMs = 1000) => {
      nowMs += laterMs;
      const now = await versionsOf(own);
      const changes = changesOf(before, now);
      before = now;
      return changes;
    };
    const at = () => new Date(nowMs).toISOString();
    return { store, clock, versionsOf, next, own, other, at };
  }

  const insert = (store: Store, table: keyof Tables, values: object) =>
    store.write((transaction) =>
      transaction
        .insertInto(table)
        .values(values as never)
        .execute(),
    );
  const update = (store: Store, table: keyof Tables, values: object) =>
    store.write((transaction) =>
      transaction
        .updateTable(table)
        .set(values as never)
        .execute(),
    );

  /** One row in each table that the service's tasks change. */
  async function insertRows(store: Store, organizationId: string): Promise<void> {
    const at = "2026-01-01T00:00:00.000Z";
    await insert(store, "models", { slug: "m", display_name: "m", default_checkpoint_id: "c", created_at: at });
    await insert(store, "checkpoints", { id: "c", model_slug: "m", requirements: "{}", created_at: at });
    const endpoint = { checkpoint_id: "c", region: "eu", url: "u", health_url: "u", health: "unknown" };
    await insert(store, "endpoints", { ...endpoint, contrary_probes: 0, next_probe_at: at });
    const soonMs = Date.now() + 100_000;
    const windows = JSON.stringify([soonMs, soonMs + 100_000]);
    const fleet = {
      id: "f",
      organization_id: organizationId,
      name: "f",
      readiness_mode: "scheduled",
      generation_id: "g",
    } as const;
    await insert(store, "fleets", fleetRow({ ...fleet, operating_windows: windows }));
    const window = { organization_id: organizationId, fleet_id: "f", starts_ms: soonMs, ends_ms: soonMs + 100_000 };
    await insert(store, "fleet_windows", window);
    await insert(store, "generations", { id: "g", fleet_id: "f", subject: "m", checkpoint_id: "c", created_at: at });
    await insert(store, "robots", robotRow({ id: "r", organization_id: organizationId, name: "r" }));
    const deployment = {
      id: "d",
      organization_id: organizationId,
      robot_id: "r",
      model_slug: "m",
      checkpoint_id: "c",
      region: "eu",
    };
    await insert(store, "deployments", { ...deployment, status: "preparing", generation_id: "g2", created_at: at });
  }

  it("changes by the service's tasks and by the passing of time", async () => {
    const { store, next, own } = await scene();
    await insertRows(store, own);
    await next();
    expect(await next()).toEqual([]);
    await update(store, "endpoints", { health: "healthy", health_since: "2026" });
    expect(await next()).toEqual(["fleets", "deployments", "models"]);
    await update(store, "endpoints", { contrary_probes: 1, last_probed_at: "2026" });
    expect(await next()).toEqual([]);
    await update(store, "generations", { activated_at: "2026" });
    expect(await next()).toEqual(["fleets"]);
    await update(store, "deployments", { status: "active" });
    expect(await next()).toEqual(["fleets", "deployments", "usage"]);
    await update(store, "robots", { changed_at: "2026-02" });
    expect(await next()).toEqual(PRESENCE);
    const usage = { usage_type: "t", sku: "s", quantity: 1, unit: "s", period_start: "2026", period_end: "2026" };
    const record = { id: "u", organization_id: own, deployment_id: "d", robot_name: "r", model_slug: "m" };
    await insert(store, "usage_records", { ...record, ...usage, created_at: "2026" });
    expect(await next()).toEqual(["usage"]);
    // Without a commit: a window opens.
    expect(await next(45_000)).toEqual([]);
    expect(await next(50_000)).toEqual(["fleets"]);
  });

  it("robot comes online or goes offline, also while another does the opposite", async () => {
    const { store, next, own, other, at } = await scene();
    for (const [id, organizationId] of [
      ["r1", own],
      ["r2", own],
      ["r3", other],
    ] as const) {
      await insert(store, "robots", robotRow({ id, organization_id: organizationId, name: id }));
      await insert(store, "installations", installationRow({ id, organization_id: organizationId, robot_id: id }));
    }
    const beat = (id: string) =>
      store.write((t) => t.updateTable("installations").set({ last_seen_at: at() }).where("id", "=", id).execute());
    await next();
    await beat("r1");
    expect(await next()).toEqual(PRESENCE);
    for (const id of ["r1", "r3"]) await beat(id);
    expect(await next(9000)).toEqual([]);
    await beat("r2");
    expect(await next(1000)).toEqual(PRESENCE);
    // Without a commit: r1 goes offline, within five seconds.
    expect(await next(5000)).toEqual(PRESENCE);
    await beat("r1");
    expect(await next(4500)).toEqual(PRESENCE);
    // It says that it cannot register.
    await store.write((t) =>
      t.updateTable("installations").set({ readiness: "not_ready" }).where("id", "=", "r1").execute(),
    );
    expect(await next()).toEqual(PRESENCE);
  });

  it("changes by requests, in the own organization and in the catalog", async () => {
    const { store, next, own, other } = await scene();
    let count = 0;
    const act = (organizationId: string | null, action: string) => {
      count += 1;
      const entry = { id: `aud_z${String(count).padStart(6, "0")}`, organization_id: organizationId, action };
      return insert(store, "audit_log", { ...entry, at: "2026", actor: "key_1", subject_id: "s", details: "{}" });
    };
    await act(other, "api_key.create");
    expect(await next()).toEqual([]);
    for (const organization of [null, own]) {
      await act(organization, "models.apply");
      expect(await next()).toEqual(TOPICS);
    }
    for (let times = 0; times < 20; times += 1) await act(other, "fleet.create");
    expect(await next()).toEqual([]);
  });

  it("many pages → one look at the store a second; another replica → the same", async () => {
    const { store, clock, versionsOf, own, next } = await scene();
    await insertRows(store, own);
    await next();
    let queries = 0;
    const reader = new Proxy(store.reader, {
      get(target, name) {
        if (name === "selectFrom") queries += 1;
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    const replica = createVersions({ reader }, { clock }, WINDOW_MS);
    expect(await replica(own)).toEqual(await versionsOf(own));
    const first = queries;
    await Promise.all(Array.from({ length: 50 }, () => replica(own)));
    expect(queries).toBe(first);
    await next();
    await Promise.all(Array.from({ length: 50 }, () => replica(own)));
    expect([queries, first > 0]).toEqual([2 * first, true]);
  });
});
