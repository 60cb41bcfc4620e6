/** Fleets: operations and tasks of several replicas on one store. test/conformance/api covers what clients see. */
import { expect, it } from "vitest";

import { fleetCreateSchema, type FleetView, fleetViewSchema } from "../../../../src/api/fleets.ts";
import { createFleet, FLEETS_MAXIMUM, getFleet, updateFleetModel } from "../../../../src/service/fleets/operations.ts";
import { createReconcileFleets } from "../../../../src/service/fleets/tasks.ts";
import type { AnyAnswer } from "../../../../src/service/kernel/http/answers.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { EndpointHealth, Tables } from "../../../../src/service/kernel/store/tables.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { endpointRow, fleetRow } from "../../../support/service/rows.ts";
import { bodyOf, openServiceParts, type ServiceParts } from "../../../support/service/service-parts.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const SUBJECTS = ["pi", "omega", "sigma"] as const;
const PREPARATION_MS = 42_000;

/** Robots in two regions, models with an endpoint in each, and two replicas; on SQLite, which has one, the same twice. */
async function openSite(newStore: NewStore) {
  const resources = new AsyncDisposableStack();
  const location = await newStore();
  const parts = resources.use(await openServiceParts(location));
  const { store, context, call } = parts;
  const second = location.kind === "sqlite" ? store : resources.use(await openStore(location, testMachine));
  for (const slug of SUBJECTS) {
    await parts.addModel(slug, { health: "unknown" });
    const there = endpointRow({ checkpoint_id: `ckpt_${slug}`, region: "there", next_probe_at: parts.at() });
    await store.write((transaction) => transaction.insertInto("endpoints").values(there).execute());
  }
  await parts.register("a");
  await parts.register("b", { region: "there" });
  const replica = (at: ServiceParts["context"]) => ({
    create: (name: string, subject = "pi") => {
      const body = fleetCreateSchema.parse({
        name,
        subject,
        selection: { robots: ["a", "b"] },
        peak_active_robots: 2,
        readiness_mode: "always_ready",
      });
      return createFleet(at)(call({ body, query: null }));
    },
    update: ({ id }: FleetView, subject: string) =>
      updateFleetModel(at)(call({ body: { subject }, query: null, path: { fleet_id: id } })),
    get: async ({ id }: FleetView) =>
      viewOf(await getFleet(at)(call({ body: null, query: null, path: { fleet_id: id } }))),
    reconcile: () => createReconcileFleets(at, 1000).run(new AbortController().signal),
  });
  /** Records the result of a probe in every region, at the current time of the clock. */
  const observe = (slug: string, health: EndpointHealth) => {
    const observed = { health, health_since: parts.at(), last_probed_at: parts.at() };
    return store.write((transaction) =>
      transaction.updateTable("endpoints").set(observed).where("checkpoint_id", "=", `ckpt_${slug}`).execute(),
    );
  };
  const withdraw = (table: "models" | "checkpoints" | "endpoints", column: "slug" | "id" | "region", value: string) =>
    store.write((transaction) =>
      transaction
        .updateTable(table)
        .set({ withdrawn_at: parts.at() })
        .where(transaction.dynamic.ref(column), "=", value)
        .execute(),
    );
  return {
    ...parts,
    first: replica(context),
    second: replica({ ...context, store: second }),
    observe,
    withdraw,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function viewOf(answer: AnyAnswer): FleetView {
  return fleetViewSchema.parse(bodyOf(answer));
}

describeOnEachStore("fleets", (newStore) => {
  it("FLEETS_MAXIMUM fleets of an organization → the next one is refused with 409", async () => {
    await using site = await openSite(newStore);
    const fleets = Array.from({ length: FLEETS_MAXIMUM - 1 }, (_, index) =>
      fleetRow({ id: `f${index}`, organization_id: "org_1", name: `f${index}`, generation_id: "gen_x" }),
    );
    for (let from = 0; from < fleets.length; from += 1000) {
      const some = fleets.slice(from, from + 1000);
      await site.store.write((transaction) => transaction.insertInto("fleets").values(some).execute());
    }
    expect((await site.first.create("the last")).status).toBe(200);
    const refused = await site.first.create("one more");
    const detail = "An organization has 10000 fleets at most";
    expect([refused.status, bodyOf(refused)]).toMatchObject([409, { code: "Conflict", detail }]);
  });

  it("replicas update one fleet concurrently → one pending update, all earlier generations superseded", async () => {
    await using site = await openSite(newStore);
    const { first, second, store } = site;
    const fleet = viewOf(await first.create("f"));
    const subjects = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? "omega" : "sigma"));
    const answers = await Promise.all(
      subjects.map((subject, index) => (index % 3 === 0 ? first : second).update(fleet, subject)),
    );
    for (const answer of answers) viewOf(answer);
    const { update } = await first.get(fleet);
    const made: readonly Tables["generations"][] = await store.reader.selectFrom("generations").selectAll().execute();
    const open = made.filter(({ superseded_at: supersededAt }) => supersededAt === null).map(({ id }) => id);
    expect(open.toSorted()).toEqual([fleet.active_model?.generation_id, update?.generation_id].toSorted());
    const audited = store.reader.selectFrom("audit_log").select("id").where("action", "like", "fleet.%");
    expect(await audited.execute()).toHaveLength(made.length);
  });

  it("replicas reconcile concurrently → one activation, each preparation is recorded once, and estimates follow", async () => {
    await using site = await openSite(newStore);
    const { first, second } = site;
    const fleet = viewOf(await first.create("f"));
    expect([fleet.status, fleet.readiness_estimate]).toEqual(["preparing", null]);
    site.pass(PREPARATION_MS);
    await site.observe("pi", "healthy");
    await Promise.all([first, second, first, second].map((replica) => replica.reconcile()));
    expect(await second.get(fleet)).toMatchObject({ status: "ready", robots: { ready: 2 } });
    const recorded = site.store.reader.selectFrom("preparations").select(["region", "seconds"]).orderBy("region");
    expect(await recorded.execute()).toEqual([
      { region: "here", seconds: 42 },
      { region: "there", seconds: 42 },
    ]);
    await site.observe("pi", "failing");
    const created = viewOf(await first.create("g"));
    expect(created.readiness_estimate).toMatchObject({ lower_seconds: 42, upper_seconds: 42 });
    site.pass(10_000);
    expect((await first.get(created)).readiness_estimate).toMatchObject({ lower_seconds: 32, upper_seconds: 32 });
  });

  it("model withdrawn from the catalog → fleets that use it keep it and can return to it; no new fleet gets it", async () => {
    await using site = await openSite(newStore);
    const { first } = site;
    const fleet = viewOf(await first.create("f"));
    await site.observe("pi", "healthy");
    await first.reconcile();
    site.pass(1000);
    await site.withdraw("models", "slug", "pi");
    await site.withdraw("checkpoints", "id", "ckpt_pi");
    await site.withdraw("endpoints", "region", "here");
    expect((await first.get(fleet)).status).toBe("ready");
    expect((await first.create("g")).status).toBe(422);
    viewOf(await first.update(fleet, "omega"));
    expect(viewOf(await first.update(fleet, "pi")).update).toBeNull();
    expect((await first.update(fleet, "ckpt_sigma_that_is_not")).status).toBe(422);
  });

  it("endpoint withdrawn before a generation began → not used by that generation", async () => {
    await using site = await openSite(newStore);
    await site.withdraw("endpoints", "region", "there");
    site.pass(1000);
    const created = viewOf(await site.first.create("f"));
    expect(created.robots).toEqual({ registered: 2, ready: 0, active: 0, waiting: 1, blocked: 1 });
  });

  it("member with an active deployment of the fleet's model → active; of another model, failed or retired → not active", async () => {
    await using site = await openSite(newStore);
    const { first, store } = site;
    const fleet = viewOf(await first.create("f"));
    await site.observe("pi", "healthy");
    const [robot] = await store.reader.selectFrom("robots").select("id").execute();
    const deployment = {
      id: "dep_1",
      organization_id: "org_1",
      robot_id: robot?.id ?? "",
      model_slug: "pi",
      checkpoint_id: "ckpt_omega",
      region: "here",
      status: "active" as const,
      generation_id: "gen_x",
      created_at: site.at(),
    };
    await store.write((transaction) => transaction.insertInto("deployments").values(deployment).execute());
    const activeAfter = async (change: Partial<Tables["deployments"]>) => {
      await store.write((transaction) => transaction.updateTable("deployments").set(change).execute());
      return (await first.get(fleet)).robots.active;
    };
    expect(await activeAfter({ status: "active" })).toBe(0);
    expect(await activeAfter({ checkpoint_id: "ckpt_pi" })).toBe(1);
    expect(await activeAfter({ status: "failed" })).toBe(0);
    expect(await activeAfter({ status: "active", retired_at: site.at() })).toBe(0);
  });
});
