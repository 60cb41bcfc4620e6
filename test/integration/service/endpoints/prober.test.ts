import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { describe, expect, it } from "vitest";

import { systemClock } from "../../../../src/platform/clock.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import {
  createHealthProbe,
  createProber,
  PROBES_MAXIMUM,
  type ReadinessTimes,
} from "../../../../src/service/endpoints/prober.ts";
import { type Claim, claimEndpoint, recordProbe, releaseEndpoint } from "../../../../src/service/endpoints/queries.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store, StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../../src/service/kernel/store/tables.ts";
import { walkFleet, type WalkStep } from "../../../support/operator/fleet-walk.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { QUICK } from "../../../support/service/replicas.ts";
import { endpointRow, fleetRow, insertModel } from "../../../support/service/rows.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const SOON = { timeout: PATIENCE_MS, interval: 10 } as const;
/** For tests in which an extra, late probe on a busy machine would be an error. */
const PATIENT = { idleMs: 600_000, probeTimeoutMs: 60_000 } as const;
const log = { debug() {}, info() {}, notice() {}, warn() {}, error() {} };
const machine = { clock: systemClock, files: systemFiles, random: systemRandom, log };
const iso = (epochMs: number) => new Date(epochMs).toISOString();
const NOW_MS = Date.parse("2026-06-01T12:00:00.000Z");

interface Site extends AsyncDisposable {
  readonly location: StoreLocation;
  readonly store: Store;
  /** The store as another replica opens it; on SQLite, where one process writes, the same object. */
  replica(): Promise<Store>;
  addEndpoint(region: string, parts?: Partial<Tables["endpoints"]>): Promise<void>;
  endpoint(region: string): Promise<Tables["endpoints"]>;
}

const CHECKPOINT = "ckpt_a";

async function openSite(newStore: NewStore): Promise<Site> {
  const resources = new AsyncDisposableStack();
  const location = await newStore();
  const store = resources.use(await openStore(location, machine));
  await store.write((transaction) => insertModel(transaction, { slug: "pi", id: CHECKPOINT, at: iso(0) }));
  return {
    location,
    store,
    async replica() {
      return location.kind === "sqlite" ? store : resources.use(await openStore(location, machine));
    },
    addEndpoint: async (region, parts = {}) => {
      const row = endpointRow({ checkpoint_id: CHECKPOINT, region, next_probe_at: iso(0), ...parts });
      await store.write((transaction) => transaction.insertInto("endpoints").values(row).execute());
    },
    endpoint: (region) =>
      store.reader.selectFrom("endpoints").selectAll().where("region", "=", region).executeTakeFirstOrThrow(),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A health endpoint. It counts probes, and the most that were open at once. */
async function startEndpoint(answer: (region: string) => Promise<number> | number = () => 200) {
  const probes = new Map<string, number>();
  let open = 0;
  let mostOpen = 0;
  const server = createServer(({ url = "" }, response) => {
    const region = url.slice(1);
    probes.set(region, (probes.get(region) ?? 0) + 1);
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    response.once("close", () => {
      open -= 1;
    });
    void Promise.resolve(answer(region)).then((status) =>
      response.writeHead(status).end(JSON.stringify({ model: { id: region } })),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    healthUrl: (region: string) => `http://127.0.0.1:${port}/${region}`,
    probes: (region: string) => probes.get(region) ?? 0,
    mostOpen: () => mostOpen,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function probing(store: Store, times: Partial<ReadinessTimes> = {}, onNudge = () => {}) {
  const stop = new AbortController();
  const readinessTimes = { ...QUICK, ...times };
  const health = createHealthProbe(readinessTimes.probeTimeoutMs);
  const prober = createProber({ store, machine, nudge: onNudge }, readinessTimes, health);
  const task = (name: string) => prober.tasks.find((candidate) => candidate.name === name)!;
  return {
    probe: () => task("probe-endpoints").run(stop.signal),
    expect: () => task("expect-endpoints").run(stop.signal),
    stop: () => stop.abort(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await prober[Symbol.asyncDispose]();
    },
  };
}

function claimAt(nowMs: number, probeId: string): Claim {
  return {
    now: iso(nowMs),
    probedBefore: iso(nowMs - 1000),
    horizon: iso(nowMs + 600_000),
    probeId,
    expiresAt: iso(nowMs + 10_000),
  };
}

describeOnEachStore("prober", (newStore) => {
  it("claim → exclusive until it expires; then two probes overlap, and the first outcome counts", async () => {
    await using site = await openSite(newStore);
    await site.addEndpoint("eu");
    const claim = (nowMs: number, probeId: string) =>
      site.store.write((transaction) => claimEndpoint(transaction, claimAt(nowMs, probeId)));
    const first = await claim(NOW_MS, "first");
    expect(first).toMatchObject({ region: "eu", health: "unknown" });
    expect(await claim(NOW_MS + 9_999, "second")).toBeUndefined();
    const second = await claim(NOW_MS + 10_000, "second");
    expect(second).toMatchObject({ region: "eu" });
    const outcome = {
      health: "healthy" as const,
      contrary_probes: 0,
      isChanged: true,
      last_error: null,
      probedAt: iso(NOW_MS + 10_001),
      next_probe_at: iso(NOW_MS + 20_000),
    };
    expect(await site.store.write((transaction) => recordProbe(transaction, first!, outcome))).toBe(true);
    const recorded = await site.endpoint("eu");
    expect(recorded).toMatchObject({ health: "healthy", health_since: outcome.probedAt, probe_id: null });
    const late = { ...outcome, health: "unknown" as const, probedAt: iso(NOW_MS + 10_002) };
    expect(await site.store.write((transaction) => recordProbe(transaction, second!, late))).toBe(false);
    expect(await site.endpoint("eu")).toEqual(recorded);
  });

  it.each([
    ["health_url", { health_url: "http://127.0.0.1:2/health" }],
    ["model_value", { model_member: "model.id", model_value: "pi05_base" }],
  ])("%s changed during the probe → its outcome is discarded", async (_name, change) => {
    await using site = await openSite(newStore);
    await site.addEndpoint("eu");
    const claimed = await site.store.write((transaction) => claimEndpoint(transaction, claimAt(NOW_MS, "first")));
    await site.store.write((transaction) => transaction.updateTable("endpoints").set(change).execute());
    const outcome = { health: "healthy" as const, contrary_probes: 0, isChanged: true, last_error: null };
    const times = { probedAt: iso(NOW_MS), next_probe_at: iso(NOW_MS) };
    const write = site.store.write((transaction) => recordProbe(transaction, claimed!, { ...outcome, ...times }));
    expect(await write).toBe(false);
    expect((await site.endpoint("eu")).health).toBe("unknown");
  });

  it("released claim → can be claimed at once", async () => {
    await using site = await openSite(newStore);
    await site.addEndpoint("eu");
    const claimed = await site.store.write((transaction) => claimEndpoint(transaction, claimAt(NOW_MS, "first")));
    await site.store.write((transaction) => releaseEndpoint(transaction, claimed!, "first"));
    const again = await site.store.write((transaction) => claimEndpoint(transaction, claimAt(NOW_MS + 1, "second")));
    expect(again).toMatchObject({ region: "eu" });
  });

  it.each([
    ["due", { next_probe_at: iso(NOW_MS) }, true],
    ["not due yet", { next_probe_at: iso(NOW_MS + 1) }, false],
    ["due in the far future, set by a clock ahead", { next_probe_at: iso(NOW_MS + 86_400_000) }, true],
    ["due, but probed less than a second ago", { last_probed_at: iso(NOW_MS - 999) }, false],
    ["due, probed a second ago", { last_probed_at: iso(NOW_MS - 1000) }, true],
    ["last probed in the far future, by a clock ahead", { last_probed_at: iso(NOW_MS + 86_400_000) }, true],
    [
      "claimed until the far future, by a clock ahead",
      { probe_id: "lost", probe_expires_at: iso(NOW_MS + 86_400_000) },
      true,
    ],
    [
      "claimed by a replica whose clock is slightly ahead",
      { probe_id: "other", probe_expires_at: iso(NOW_MS + 40_000) },
      false,
    ],
    ["withdrawn from the catalog, and not in use", { withdrawn_at: iso(0) }, false],
  ])("claimEndpoint: endpoint that is %s", async (_name, parts, isClaimed) => {
    await using site = await openSite(newStore);
    await site.addEndpoint("eu", parts);
    const claimed = await site.store.write((transaction) => claimEndpoint(transaction, claimAt(NOW_MS, "first")));
    expect(claimed !== undefined).toBe(isClaimed);
  });

  it.each(["endpoints", "checkpoints"] as const)(
    "%s withdrawn from the catalog → probed while a fleet uses them",
    async (table) => {
      await using site = await openSite(newStore);
      await site.addEndpoint("eu");
      await site.store.write((transaction) =>
        transaction
          .updateTable(table)
          .set({ withdrawn_at: iso(0) })
          .execute(),
      );
      await addFleet(site.store, { readiness_mode: "on_demand", operating_windows: "[]" });
      const claim = (probeId: string, nowMs: number) =>
        site.store.write((transaction) => claimEndpoint(transaction, claimAt(nowMs, probeId)));
      expect(await claim("first", NOW_MS)).toMatchObject({ region: "eu" });
      await site.store.write((transaction) =>
        transaction
          .updateTable("generations")
          .set({ superseded_at: iso(NOW_MS) })
          .execute(),
      );
      expect(await claim("second", NOW_MS + 60_000)).toBeUndefined();
    },
  );

  it("a server of another model → not healthy, and the reason says which", async () => {
    await using site = await openSite(newStore);
    await using server = await startEndpoint();
    const wanted = { model_member: "model.id", model_value: "pi05_yam" };
    for (const region of ["pi05_yam", "pi05_base"]) {
      await site.addEndpoint(region, { health_url: server.healthUrl(region), ...wanted });
    }
    await using prober = probing(site.store);
    await prober.probe();
    await expect.poll(() => site.endpoint("pi05_yam"), SOON).toMatchObject({ health: "healthy", last_error: null });
    const wrong = { health: "unknown", last_error: "serves pi05_base, not pi05_yam" };
    await expect.poll(() => site.endpoint("pi05_base"), SOON).toMatchObject(wrong);
  });

  it("two replicas → each endpoint is probed once", async () => {
    await using site = await openSite(newStore);
    await using endpoint = await startEndpoint();
    const regions = Array.from({ length: 20 }, (_, index) => `region-${index}`);
    for (const region of regions) await site.addEndpoint(region, { health_url: endpoint.healthUrl(region) });
    await using first = probing(site.store, PATIENT);
    await using second = probing(await site.replica(), PATIENT);
    const isDone = async () => {
      await Promise.all([first.probe(), second.probe()]);
      const rows = await site.store.reader.selectFrom("endpoints").select("health").execute();
      return rows.every(({ health }) => health === "healthy");
    };
    await expect.poll(isDone, SOON).toBe(true);
    expect(regions.map(endpoint.probes)).toEqual(regions.map(() => 1));
  });

  it("hanging endpoints → other endpoints are still probed, at most PROBES_MAXIMUM at once", async () => {
    await using site = await openSite(newStore);
    const hanging = Promise.withResolvers<number>();
    await using endpoint = await startEndpoint((region) => (region.startsWith("hang") ? hanging.promise : 200));
    for (let index = 0; index < PROBES_MAXIMUM + 4; index += 1) {
      await site.addEndpoint(`hang-${index}`, { health_url: endpoint.healthUrl(`hang-${index}`) });
    }
    await site.addEndpoint("well", { health_url: endpoint.healthUrl("well"), next_probe_at: iso(NOW_MS) });
    await using prober = probing(site.store, { probeTimeoutMs: 300, idleMs: 600_000 });
    const isProbed = async () => {
      await prober.probe();
      return (await site.endpoint("well")).health;
    };
    await expect.poll(isProbed, SOON).toBe("healthy");
    expect(endpoint.mostOpen()).toBeLessThanOrEqual(PROBES_MAXIMUM);
    const lastError = "no answer within 300 ms";
    await expect.poll(() => site.endpoint("hang-0"), SOON).toMatchObject({ last_error: lastError });
    hanging.resolve(200);
  });

  it("stop → running probes are aborted and their claims released", async () => {
    await using site = await openSite(newStore);
    const hanging = Promise.withResolvers<number>();
    await using endpoint = await startEndpoint(() => hanging.promise);
    await site.addEndpoint("eu", { health_url: endpoint.healthUrl("eu") });
    {
      await using prober = probing(site.store, { probeTimeoutMs: 60_000 });
      await prober.probe();
      await expect.poll(() => endpoint.probes("eu"), SOON).toBe(1);
      expect((await site.endpoint("eu")).probe_id).not.toBeNull();
    }
    expect(await site.endpoint("eu")).toMatchObject({ probe_id: null, last_probed_at: null, health: "unknown" });
    hanging.resolve(200);
  });

  it("endpoint that no fleet expects → probed after the idle interval; once a fleet expects it → due at once", async () => {
    await using site = await openSite(newStore);
    await using endpoint = await startEndpoint();
    await site.addEndpoint("eu", { health_url: endpoint.healthUrl("eu") });
    await using prober = probing(site.store, { ...PATIENT, expectedMs: 1000 });
    await prober.probe();
    await expect.poll(async () => (await site.endpoint("eu")).health, SOON).toBe("healthy");
    const waitMs = async () => Date.parse((await site.endpoint("eu")).next_probe_at) - Date.now();
    expect(await waitMs()).toBeGreaterThan(500_000);
    await prober.expect();
    expect(await waitMs()).toBeGreaterThan(500_000);
    await addFleet(site.store, { readiness_mode: "always_ready", operating_windows: "[]" });
    await prober.expect();
    expect(await waitMs()).toBeLessThanOrEqual(0);
  });

  it("stop → no more endpoints are brought forward, one write for each of many checkpoints", async () => {
    await using site = await openSite(newStore);
    const later = iso(Date.now() + 600_000);
    await site.addEndpoint("eu", { next_probe_at: later });
    await addFleet(site.store, { readiness_mode: "always_ready", operating_windows: "[]" });
    await using prober = probing(site.store, PATIENT);
    prober.stop();
    await prober.expect();
    expect(await site.endpoint("eu")).toMatchObject({ next_probe_at: later });
  });
});

/** A fleet without members, which still expects capacity. */
async function addFleet(store: Store, parts: Pick<Tables["fleets"], "readiness_mode" | "operating_windows">) {
  await store.write(async (transaction) => {
    const createdAt = iso(0);
    await transaction
      .insertInto("organizations")
      .values({ id: "org_1", name: "org_1", created_at: createdAt })
      .execute();
    const ids = { id: "fleet_1", organization_id: "org_1", name: "f", generation_id: "gen_1" };
    await transaction
      .insertInto("fleets")
      .values(fleetRow({ ...ids, ...parts, created_at: createdAt }))
      .execute();
    const generation = {
      id: "gen_1",
      fleet_id: "fleet_1",
      subject: "pi",
      checkpoint_id: CHECKPOINT,
      created_at: createdAt,
    };
    await transaction
      .insertInto("generations")
      .values({ ...generation, activated_at: null, superseded_at: null })
      .execute();
  });
}

describe("life of a fleet", () => {
  describeOnEachStore("step by step", (newStore) => {
    it("each step → the status that an operator expects", async () => {
      const store = await newStore();
      const steps: WalkStep[] = [];
      for await (const step of walkFleet(store)) steps.push(step);
      const lines = steps.map(({ title, view: { subject, status, robots, active_model: activeModel, update } }) => {
        const { ready, waiting, blocked } = robots;
        return `${title}: ${status}, ${subject} ${activeModel?.status}, update ${update?.status ?? "none"}, ${ready}/${waiting}/${blocked}`;
      });
      expect(lines).toMatchInlineSnapshot(`
        [
          "created while both servers still load pi0.5: preparing, pi0.5 preparing, update none, 0/3/0",
          "eu-central-1 has it loaded, us-west-2 has not: preparing, pi0.5 preparing, update none, 2/1/0",
          "both have it loaded: ready, pi0.5 active, update none, 3/0/0",
          "one probe of us-west-2 was lost, four more were answered: nothing to see: ready, pi0.5 active, update none, 3/0/0",
          "us-west-2 is dead: degraded, pi0.5 active, update none, 2/1/0",
          "us-west-2 is back: ready, pi0.5 active, update none, 3/0/0",
          "update to pi1, which neither server has loaded: ready, pi0.5 active, update pending, 3/0/0",
          "both were asked: pi0.5 serves on while pi1 is prepared: ready, pi0.5 active, update preparing, 3/0/0",
          "both have pi1 loaded: the new generation is active: ready, pi1 active, update none, 3/0/0",
          "arm-3 registered again, as a type that pi1 cannot drive: degraded, pi1 active, update none, 2/0/1",
          "arm-1 too, and arm-2 moved where pi1 has no endpoint: blocked, pi1 blocked, update none, 0/0/3",
        ]
      `);
      const generations = steps.map(({ view }) => view.active_model?.generation_id);
      expect(new Set(generations).size).toBe(2);
      expect(generations.at(-1)).toBe(steps.find(({ view }) => view.update !== null)?.view.update?.generation_id);
      expect(steps.map(({ view }) => view.blocker !== null)).toEqual(
        steps.map(({ view }) => view.status === "blocked"),
      );
    });
  });
});
