/** Fleets: operations and tasks of several replicas on one store. test/conformance/api covers what clients see. */

import { expect, it } from "vitest";

import { type FleetDetails, fleetDetailsSchema } from "../../../../src/api/fleet-details.ts";
import { fleetCreateSchema, type FleetView } from "../../../../src/api/fleets.ts";
import { FLEETS_MAXIMUM } from "../../../../src/service/fleets/changes.ts";
import { getFleetDetails } from "../../../../src/service/fleets/details.ts";
import { createFleet, getFleet, listFleets, updateFleetModel } from "../../../../src/service/fleets/operations.ts";
import { lockFleet } from "../../../../src/service/fleets/queries.ts";
import { createReconcileFleets } from "../../../../src/service/fleets/tasks.ts";
import type { Principal } from "../../../../src/service/kernel/auth/authenticate.ts";
import { IDENTITY_SETTINGS } from "../../../../src/service/identity/index.ts";
import type { Answer } from "../../../../src/service/kernel/http/answers.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import type { OperationContext } from "../../../../src/service/kernel/operation.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import type { EndpointHealth } from "../../../../src/service/kernel/store/tables.ts";
import { registrationOf, upsertRobot } from "../../../../src/service/robots/robots.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { times } from "../../../support/run/tier.ts";
import { endpointRow, fleetRow, insertModel } from "../../../support/service/rows.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const NOW_MS = Date.parse("2026-06-01T12:00:00.000Z");
const LATER_MS = NOW_MS + 42_000;
const iso = (epochMs: number) => new Date(epochMs).toISOString();
const NEVER = new AbortController().signal;

interface Replica {
  create(parts?: Readonly<Record<string, unknown>>): Promise<Answer>;
  update(fleet: FleetView, subject: string): Promise<Answer>;
  get(fleet: FleetView): Promise<FleetView>;
  details(fleet: FleetView): Promise<FleetDetails>;
  list(): Promise<readonly FleetView[]>;
  reconcile(): Promise<void>;
}

interface Site extends AsyncDisposable {
  readonly store: Store;
  /** Whether writes lock rows (PostgreSQL), not the whole store (SQLite). */
  readonly hasRowLocks: boolean;
  readonly replicas: readonly [Replica, Replica];
  setClock(epochMs: number): void;
  addRobots(names: readonly string[]): Promise<void>;
  /** Records the result of a probe in every region, at the current time of the clock. */
  observe(checkpointId: string, health: EndpointHealth): Promise<void>;
}

const MODELS = { pi: "ckpt_pi", omega: "ckpt_omega", sigma: "ckpt_sigma" } as const;
const REGIONS = ["eu", "us"] as const;
const ORGANIZATION = "org_1";

/** Two replicas on one store; on SQLite, which has one, the same replica twice. */
async function openSite(newStore: NewStore): Promise<Site> {
  const resources = new AsyncDisposableStack();
  const location = await newStore();
  let nowMs = NOW_MS;
  const machine = { ...testMachine, clock: { ...testMachine.clock, wallMs: () => nowMs } };
  const store = resources.use(await openStore(location, testMachine));
  const second = location.kind === "sqlite" ? store : resources.use(await openStore(location, testMachine));
  const newId = createIds(machine.clock, machine.random);
  const context = {
    newId,
    machine,
    nudge() {},
    lastUsed: { note() {}, notedAt: () => null },
    limitMet() {},
  };
  await addCatalog(store);
  return {
    store,
    hasRowLocks: location.kind === "postgres",
    replicas: [createReplica({ ...context, store }), createReplica({ ...context, store: second })],
    setClock(epochMs) {
      nowMs = epochMs;
    },
    async addRobots(names) {
      const robots = names.map((name, index) => ({
        setup: {
          name,
          robot_type_id: "arm",
          region: REGIONS[index % 2] ?? "eu",
          configuration_digest: "sha256:",
          site: "lab",
          labels: { parity: index % 2 === 0 ? "even" : "odd" },
        },
        identity: {
          id: newId("rob"),
          now: iso(0),
          auditId: newId("aud"),
          recentChanges: "[]",
          madeBy: "key_1",
          keepsEntry: 0 as const,
          installationId: null,
        },
      }));
      await store.write(async (transaction) => {
        for (const { setup, identity } of robots)
          await upsertRobot(transaction, ORGANIZATION, registrationOf(setup), identity);
      });
    },
    async observe(checkpointId, health) {
      const observed = { health, health_since: iso(nowMs), last_probed_at: iso(nowMs) };
      await store.write((transaction) =>
        transaction.updateTable("endpoints").set(observed).where("checkpoint_id", "=", checkpointId).execute(),
      );
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function addCatalog(store: Store): Promise<void> {
  const createdAt = iso(0);
  await store.write(async (transaction) => {
    await transaction
      .insertInto("organizations")
      .values({ id: ORGANIZATION, name: "lab", created_at: createdAt })
      .execute();
    for (const [slug, id] of Object.entries(MODELS)) {
      await insertModel(transaction, { slug, id, at: createdAt });
      for (const region of REGIONS) {
        const row = endpointRow({ checkpoint_id: id, region, next_probe_at: iso(NOW_MS + 300_000) });
        await transaction.insertInto("endpoints").values(row).execute();
      }
    }
  });
}

const NO_HEARTBEATS = { liveness: { seen: () => undefined }, identity: IDENTITY_SETTINGS };

function createReplica(context: OperationContext): Replica {
  const principal: Principal = {
    organizationId: ORGANIZATION,
    credential: "api_key",
    credentialId: "key_1",
    keyId: "key_1",
    scopes: null,
    expiresAt: null,
    robot: null,
  };
  const { write } = context.store;
  const sent = { path: {}, query: null, url: "/", requestId: "r", address: "10.0.0.4", body: null };
  const call = { principal, write, ...sent };
  const answerOf = async (answer: ReturnType<ReturnType<typeof getFleet>>) => {
    const answered = await answer;
    if (!("json" in answered)) throw new Error("a long answer");
    return answered;
  };
  const reconciler = createReconcileFleets(context, 1000);
  const seeing = { ...context, ...NO_HEARTBEATS };
  return {
    create: (parts = {}) => {
      const body = fleetCreateSchema.parse({
        name: "f",
        subject: "pi",
        selection: { robots: ["a", "b"] },
        peak_active_robots: 2,
        readiness_mode: "always_ready",
        ...parts,
      });
      return answerOf(createFleet(seeing)({ ...call, body }));
    },
    update: ({ id }, subject) =>
      answerOf(updateFleetModel(seeing)({ ...call, path: { fleet_id: id }, body: { subject } })),
    get: async ({ id }) => viewOf(await answerOf(getFleet(seeing)({ ...call, path: { fleet_id: id } }))),
    details: async ({ id }) => {
      const answer = await answerOf(getFleetDetails(seeing)({ ...call, path: { fleet_id: id } }));
      return fleetDetailsSchema.parse(JSON.parse(answer.json));
    },
    list: async () => JSON.parse((await answerOf(listFleets(seeing)({ ...call, query: {} }))).json) as FleetView[],
    reconcile: () => reconciler.run(NEVER),
  };
}

function viewOf({ status, json }: Answer): FleetView {
  expect(status, json).toBe(200);
  return JSON.parse(json) as FleetView;
}

async function withFleet(newStore: NewStore) {
  const site = await openSite(newStore);
  await site.addRobots(["a", "b"]);
  const [first, second] = site.replicas;
  return {
    site,
    first,
    second,
    fleet: viewOf(await first.create()),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

const auditOf = (store: Store) => store.reader.selectFrom("audit_log").select("action").orderBy("id").execute();

describeOnEachStore("fleets", (newStore) => {
  it("replicas create the same name concurrently → one complete fleet, and no traces of the others", async () => {
    await using site = await openSite(newStore);
    await site.addRobots(["a", "b"]);
    const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => site.replicas[index % 2]!.create()));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 15 }, () => 409)]);
    expect(await site.store.reader.selectFrom("generations").selectAll().execute()).toHaveLength(1);
    expect(await site.store.reader.selectFrom("fleet_members").selectAll().execute()).toHaveLength(2);
    expect(await auditOf(site.store)).toEqual([{ action: "fleet.create" }]);
  });

  it("create refused → nothing is stored; accepted → its endpoints are due", async () => {
    await using site = await openSite(newStore);
    await site.addRobots(["a", "b"]);
    const [replica] = site.replicas;
    for (const parts of [{ subject: "nope" }, { selection: { robots: ["a", "nobody"] } }, { peak_active_robots: 3 }]) {
      expect((await replica.create(parts)).status).toBe(422);
    }
    const due = () =>
      site.store.reader
        .selectFrom("endpoints")
        .select("checkpoint_id")
        .where("next_probe_at", "<=", iso(NOW_MS))
        .execute();
    expect([await replica.list(), await auditOf(site.store), await due()]).toEqual([[], [], []]);
    viewOf(await replica.create());
    expect(await due()).toEqual([{ checkpoint_id: "ckpt_pi" }, { checkpoint_id: "ckpt_pi" }]);
  });

  it("FLEETS_MAXIMUM fleets of an organization → the next one is refused with 409", async () => {
    await using site = await openSite(newStore);
    await site.addRobots(["a", "b"]);
    const fleet = { organization_id: ORGANIZATION, generation_id: "gen_x" };
    const fill = (from: number, to: number) =>
      site.store.write((transaction) =>
        transaction
          .insertInto("fleets")
          .values(
            Array.from({ length: to - from }, (_, index) =>
              fleetRow({ ...fleet, id: `f${from + index}`, name: `f${from + index}` }),
            ),
          )
          .execute(),
      );
    for (let from = 0; from < FLEETS_MAXIMUM; from += 1000) await fill(from, Math.min(from + 1000, FLEETS_MAXIMUM - 1));
    const [replica] = site.replicas;
    viewOf(await replica.create({ name: "the last" }));
    const refused = await replica.create({ name: "one more" });
    expect([refused.status, JSON.parse(refused.json)]).toEqual([
      409,
      expect.objectContaining({ code: "Conflict", detail: "An organization has 10000 fleets at most" }),
    ]);
  });

  it("replicas update one fleet concurrently → one pending update, all earlier generations superseded", async () => {
    await using world = await withFleet(newStore);
    const { site, first, second, fleet } = world;
    const subjects = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? "omega" : "sigma"));
    const answers = await Promise.all(
      subjects.map((subject, index) => (index % 3 === 0 ? first : second).update(fleet, subject)),
    );
    for (const answer of answers) viewOf(answer);
    const { update } = await first.get(fleet);
    const open = await site.store.reader
      .selectFrom("generations")
      .selectAll()
      .where("superseded_at", "is", null)
      .execute();
    expect(open.map(({ id }) => id).toSorted()).toEqual(
      [fleet.active_model?.generation_id, update?.generation_id].toSorted(),
    );
    const made = await site.store.reader.selectFrom("generations").selectAll().execute();
    expect(await auditOf(site.store)).toHaveLength(made.length);
  });

  it("details during updates → one consistent snapshot: the newest generation is never superseded", async () => {
    await using world = await withFleet(newStore);
    const { first, second, fleet } = world;
    viewOf(await first.update(fleet, "omega"));
    const newest = new Set<string | undefined>();
    for (let round = 0; round < times(8, 20); round += 1) {
      const update = first.update(fleet, round % 2 === 0 ? "sigma" : "omega");
      for (const { generations } of await Promise.all(Array.from({ length: 8 }, () => second.details(fleet)))) {
        newest.add(generations[0]?.status);
      }
      viewOf(await update);
    }
    expect([...newest]).toEqual(["pending"]);
  });

  it("replicas reconcile concurrently → one activation, and each preparation is recorded once", async () => {
    await using world = await withFleet(newStore);
    const { site, first, second, fleet } = world;
    await first.reconcile();
    expect((await first.get(fleet)).status).toBe("preparing");
    site.setClock(LATER_MS);
    await site.observe("ckpt_pi", "healthy");
    await Promise.all([first, second, first, second].map((replica) => replica.reconcile()));
    expect(await second.get(fleet)).toMatchObject({ status: "ready", robots: { ready: 2 } });
    const recorded = await site.store.reader
      .selectFrom("preparations")
      .select(["region", "seconds"])
      .orderBy("region")
      .execute();
    expect(recorded).toEqual([
      { region: "eu", seconds: 42 },
      { region: "us", seconds: 42 },
    ]);
  });

  it("fleet locked by a running change → reconciliation skips it until the change ends", async ({ skip }) => {
    await using world = await withFleet(newStore);
    const { site, second, fleet } = world;
    skip(!site.hasRowLocks, "SQLite has one writer at a time");
    await site.observe("ckpt_pi", "healthy");
    const isLocked = Promise.withResolvers<void>();
    const isOver = Promise.withResolvers<void>();
    const change = site.store.write(async (transaction) => {
      await lockFleet(transaction, { id: fleet.id, organization_id: ORGANIZATION });
      isLocked.resolve();
      await isOver.promise;
    });
    await isLocked.promise;
    await second.reconcile();
    const between = await second.get(fleet);
    isOver.resolve();
    await change;
    expect(between.status).toBe("preparing");
    await second.reconcile();
    expect(await second.get(fleet)).toMatchObject({ status: "ready" });
  });

  it("readiness_estimate → from recorded preparations; null without any", async () => {
    await using world = await withFleet(newStore);
    const { site, first, fleet } = world;
    expect(fleet.readiness_estimate).toBeNull();
    site.setClock(LATER_MS);
    await site.observe("ckpt_pi", "healthy");
    await first.reconcile();
    await site.observe("ckpt_pi", "failing");
    const created = viewOf(await first.create({ name: "g" }));
    const updatedAt = iso(LATER_MS);
    expect(created.readiness_estimate).toEqual({ lower_seconds: 42, upper_seconds: 42, updated_at: updatedAt });
    site.setClock(LATER_MS + 10_000);
    expect((await first.get(created)).readiness_estimate).toMatchObject({ lower_seconds: 32, upper_seconds: 32 });
    site.setClock(LATER_MS + 43_000);
    expect((await first.get(created)).readiness_estimate).toBeNull();
  });

  it("update → the old generation serves until the new one is ready, by observations since the update only", async () => {
    await using world = await withFleet(newStore);
    const { site, first, second, fleet } = world;
    await site.observe("ckpt_pi", "healthy");
    await site.observe("ckpt_omega", "healthy");
    await first.reconcile();
    site.setClock(LATER_MS);
    const requested = viewOf(await first.update(fleet, "omega"));
    await second.reconcile();
    expect((await first.get(fleet)).update?.status).toBe("pending");
    await site.observe("ckpt_omega", "failing");
    await second.reconcile();
    expect(await first.get(fleet)).toMatchObject({ status: "ready", subject: "pi", update: { status: "preparing" } });
    await site.observe("ckpt_omega", "healthy");
    await Promise.all([first.reconcile(), second.reconcile()]);
    expect(await first.get(fleet)).toMatchObject({
      status: "ready",
      subject: "omega",
      active_model: { generation_id: requested.update?.generation_id, status: "active" },
      update: null,
    });
    const rows = await site.store.reader.selectFrom("generations").selectAll().orderBy("id").execute();
    expect(
      rows.map(({ activated_at: activatedAt, superseded_at: supersededAt }) => [activatedAt, supersededAt]),
    ).toEqual([
      [iso(NOW_MS), iso(LATER_MS)],
      [iso(LATER_MS), null],
    ]);
  });

  it("model withdrawn from the catalog → fleets that use it keep it and can return to it; no new fleet gets it", async () => {
    await using world = await withFleet(newStore);
    const { site, first, fleet } = world;
    await site.observe("ckpt_pi", "healthy");
    await first.reconcile();
    site.setClock(LATER_MS);
    const withdrawnAt = iso(LATER_MS);
    await site.store.write(async (transaction) => {
      await transaction.updateTable("models").set({ withdrawn_at: withdrawnAt }).where("slug", "=", "pi").execute();
      await transaction
        .updateTable("checkpoints")
        .set({ withdrawn_at: withdrawnAt })
        .where("id", "=", "ckpt_pi")
        .execute();
      await transaction
        .updateTable("endpoints")
        .set({ withdrawn_at: withdrawnAt })
        .where("checkpoint_id", "=", "ckpt_pi")
        .execute();
    });
    expect((await first.get(fleet)).status).toBe("ready");
    expect((await first.create({ name: "g" })).status).toBe(422);
    viewOf(await first.update(fleet, "omega"));
    expect(viewOf(await first.update(fleet, "pi")).update).toBeNull();
    expect((await first.update(fleet, "ckpt_sigma_that_is_not")).status).toBe(422);
  });

  it("endpoint withdrawn before a generation began → not used by that generation", async () => {
    await using world = await withFleet(newStore);
    const { site, first } = world;
    await site.store.write((transaction) =>
      transaction
        .updateTable("endpoints")
        .set({ withdrawn_at: iso(NOW_MS) })
        .where("region", "=", "us")
        .execute(),
    );
    site.setClock(LATER_MS);
    const created = viewOf(await first.create({ name: "g" }));
    expect(created.robots).toEqual({ registered: 2, ready: 0, active: 0, waiting: 1, blocked: 1 });
  });

  it("selector → finds its robots among many; 1000 match → accepted, 1001 → 422", async () => {
    await using site = await openSite(newStore);
    const [replica] = site.replicas;
    const selection = (selector: unknown) => ({ selection: { selector } });
    await site.addRobots(Array.from({ length: 2000 }, (_, index) => `robot-${index}`));
    const odd = viewOf(await replica.create({ name: "odd", ...selection({ labels: { parity: "odd" } }) }));
    expect(odd.robots.registered).toBe(1000);
    await site.addRobots(["one", "two"]);
    const refused = await replica.create({ name: "even", ...selection({ labels: { parity: "even" } }) });
    expect([refused.status, refused.json]).toEqual([422, expect.stringContaining("more than 1000 robots match")]);
  });

  it("member with an active deployment of the fleet's model → active; of another model, failed or retired → not active", async () => {
    await using world = await withFleet(newStore);
    const { site, first, fleet } = world;
    await site.observe("ckpt_pi", "healthy");
    await first.reconcile();
    const robots = await site.store.reader.selectFrom("robots").select("id").orderBy("name").execute();
    const deploy = (index: number, checkpointId: string, status: "active" | "failed") =>
      site.store.write((transaction) =>
        transaction
          .insertInto("deployments")
          .values({
            id: `dep_${index}`,
            organization_id: ORGANIZATION,
            robot_id: robots[index]?.id ?? "",
            model_slug: "pi",
            checkpoint_id: checkpointId,
            region: "eu",
            status,
            generation_id: "gen_x",
            last_error_code: null,
            created_at: iso(NOW_MS),
            activated_at: null,
            retired_at: null,
            usage_from: null,
            usage_id: null,
          })
          .execute(),
      );
    await deploy(0, "ckpt_pi", "active");
    await deploy(1, "ckpt_omega", "active");
    expect((await first.get(fleet)).robots).toMatchObject({ active: 1, ready: 1 });
    await site.store.write((transaction) =>
      transaction
        .updateTable("deployments")
        .set({ checkpoint_id: "ckpt_pi", status: "failed" })
        .where("id", "=", "dep_1")
        .execute(),
    );
    expect((await first.get(fleet)).robots).toMatchObject({ active: 1, ready: 1 });
    await site.store.write((transaction) =>
      transaction
        .updateTable("deployments")
        .set({ retired_at: iso(NOW_MS) })
        .execute(),
    );
    expect((await first.get(fleet)).robots).toMatchObject({ active: 0, ready: 2 });
  });
});
