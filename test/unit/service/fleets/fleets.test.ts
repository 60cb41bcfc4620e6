import { describe, expect, it } from "vitest";

import { fleetCreateSchema, fleetPreviewSchema, fleetViewSchema } from "../../../../src/api/fleets.ts";
import type { PageQuery } from "../../../../src/api/wire/pages.ts";
import { addPreparations, loadPreparations } from "../../../../src/service/endpoints/preparations.ts";
import { getFleetDetails } from "../../../../src/service/fleets/details.ts";
import {
  createFleet,
  getFleet,
  listFleetNeeds,
  listFleets,
  removeFleet,
  updateFleetModel,
} from "../../../../src/service/fleets/operations.ts";
import { previewReconcile, reconcileFleet } from "../../../../src/service/fleets/reconcile.ts";
import { createReportFleets } from "../../../../src/service/fleets/report-states.ts";
import { findRobotIds, previewFleet, selectRobotIds } from "../../../../src/service/fleets/selection.ts";
import { createReconcileFleets } from "../../../../src/service/fleets/tasks.ts";
import type { Handler } from "../../../../src/service/kernel/operation.ts";
import { FINDINGS_MAXIMUM } from "../../../../src/service/kernel/validation/check.ts";
import { robotRow, webhookRow } from "../../../support/service/rows.ts";
import {
  bodyOf,
  changedAfterQuery,
  changedBeforeWrites,
  openServiceParts,
  PRINCIPAL,
  type ServiceParts,
} from "../../../support/service/service-parts.ts";

const HOUR_MS = 3_600_000;

async function createdFleet({ context, call }: ServiceParts, parts: object = {}) {
  const body = fleetCreateSchema.parse({
    name: "f",
    subject: "pi",
    selection: { robots: ["r1"] },
    peak_active_robots: 1,
    readiness_mode: "always_ready",
    ...parts,
  });
  return fleetViewSchema.parse(bodyOf(await createFleet(context)(call({ body, query: null }))));
}

const update = async ({ context, call }: ServiceParts, fleetId: string, subject: string) =>
  fleetViewSchema.parse(
    bodyOf(await updateFleetModel(context)(call({ body: { subject }, query: null, path: { fleet_id: fleetId } }))),
  );

const setHealth = ({ store, at }: ServiceParts, health: "healthy" | "unknown" | "failing") =>
  store.write((transaction) =>
    transaction.updateTable("endpoints").set({ health, health_since: at(), last_probed_at: at() }).execute(),
  );

const reconcile = ({ context }: ServiceParts, store = context.store) =>
  createReconcileFleets({ ...context, store }, 1000).run(new AbortController().signal);

const dueNow = async ({ store, at }: ServiceParts) => {
  const due = store.reader.selectFrom("endpoints").select("checkpoint_id").where("next_probe_at", "<=", at());
  return (await due.execute()).map(({ checkpoint_id: checkpointId }) => checkpointId);
};

describe("answers about fleets are consistent, whatever is committed between their queries", () => {
  type Ask = (context: ServiceParts["context"], parts: ServiceParts, fleetId: string) => ReturnType<Handler<null>>;
  const listing =
    (operation: (context: ServiceParts["context"]) => Handler<null, PageQuery>): Ask =>
    (context, { call }) =>
      operation(context)(call({ body: null, query: {} }));
  const asking =
    (operation: (context: ServiceParts["context"]) => Handler<null>): Ask =>
    (context, { call }, fleetId) =>
      operation(context)(call({ body: null, query: null, path: { fleet_id: fleetId } }));

  it.each<[string, Ask]>([
    ["GET /v1/fleets", listing(listFleets)],
    ["GET /v1/me/fleet-needs", listing(listFleetNeeds)],
    ["GET /v1/fleets/{fleet_id}", asking(getFleet)],
    ["GET /v1/fleets/{fleet_id}/details", asking(getFleetDetails)],
  ])("%s", async (_name, ask) => {
    await using parts = await openServiceParts();
    await parts.addModel("pi", { health_since: parts.at(), last_probed_at: parts.at() });
    await parts.register("r1");
    const { id } = await createdFleet(parts);
    await reconcile(parts);
    const before = bodyOf(await ask(parts.context, parts, id));
    const store = changedAfterQuery(parts.store, async () => {
      await setHealth(parts, "failing");
      await parts.require("pi", { robot_types: ["cart"] });
    });
    expect(bodyOf(await ask({ ...parts.context, store }, parts, id))).toEqual(before);
    expect(bodyOf(await ask(parts.context, parts, id))).not.toEqual(before);
  });
});

describe("the endpoints of a fleet", () => {
  it("fleet created or its model changed → immediate probe, tasks are woken", async () => {
    await using parts = await openServiceParts();
    for (const slug of ["pi", "omega"]) await parts.addModel(slug);
    await parts.register("r1");
    const { id } = await createdFleet(parts);
    expect([await dueNow(parts), parts.nudges()]).toEqual([["ckpt_pi"], 1]);
    await update(parts, id, "omega");
    expect([(await dueNow(parts)).toSorted(), parts.nudges()]).toEqual([["ckpt_omega", "ckpt_pi"], 2]);
    await update(parts, id, "omega");
    expect(parts.nudges()).toBe(2);
  });
});

describe("reconcile-fleets", () => {
  it("endpoint failed meanwhile → the fleet is checked again under its lock, nothing becomes active", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi", { last_probed_at: parts.at() });
    await parts.register("r1");
    await createdFleet(parts);
    const store = changedBeforeWrites(parts.store, () => setHealth(parts, "failing"));
    await reconcile(parts, store);
    const active = parts.store.reader.selectFrom("generations").select("id").where("activated_at", "is not", null);
    expect(await active.execute()).toEqual([]);
  });

  it("members reconciled meanwhile, one of whom the update cannot drive → the active model stays", async () => {
    await using parts = await openServiceParts();
    for (const slug of ["pi", "omega"]) await parts.addModel(slug, { last_probed_at: parts.at() });
    await parts.require("omega", { robot_types: ["arm"] });
    await parts.register("r1", { site: "lab" });
    const { id } = await createdFleet(parts, { selection: { selector: { site: "lab" } } });
    await reconcile(parts);
    await update(parts, id, "omega");
    await setHealth(parts, "healthy");
    await parts.register("cart", { site: "lab", robot_type_id: "cart" });
    const store = changedBeforeWrites(parts.store, async () => {
      await reconcileFleet(parts.context)(parts.call({ body: null, query: null, path: { fleet_id: id } }));
    });
    await reconcile(parts, store);
    const answer = await getFleet(parts.context)(parts.call({ body: null, query: null, path: { fleet_id: id } }));
    expect(bodyOf(answer)).toMatchObject({ subject: "pi", robots: { registered: 2 }, update: { status: "blocked" } });
  });

  it("generation becomes active → reported at once", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi", { last_probed_at: parts.at() });
    await parts.register("r1");
    await createdFleet(parts);
    const nudges = parts.nudges();
    await reconcile(parts);
    expect(parts.nudges()).toBe(nudges + 1);
    await reconcile(parts);
    expect(parts.nudges()).toBe(nudges + 1);
  });

  it.each<[string, number, readonly number[]]>([
    ["healthy before it was needed → not observed", 0, []],
    ["half a second → rounded up to one", 500, [1]],
    ["six hours", 6 * HOUR_MS, [21_600]],
    ["more than six hours → not a preparation: the endpoint was down, or a clock was set", 6 * HOUR_MS + 1, []],
  ])("duration of a preparation: %s", async (_what, tookMs, seconds) => {
    await using parts = await openServiceParts();
    await parts.addModel("pi", { health: "unknown" });
    await parts.register("r1");
    await createdFleet(parts);
    parts.pass(tookMs);
    await setHealth(parts, "healthy");
    await reconcile(parts);
    const found = await loadPreparations(parts.store.reader, ["pi"]);
    expect(found.get("pi") ?? []).toEqual(seconds);
  });
});

it("reconciling a selector that matches more robots than a fleet may have → refused, the members stay", async () => {
  await using parts = await openServiceParts();
  await parts.addModel("pi");
  await parts.register("r1", { site: "lab" });
  const { id } = await createdFleet(parts, { selection: { selector: { site: "lab" } } });
  const rows = Array.from({ length: 1000 }, (_, index) =>
    robotRow({ id: `rob_${index}`, organization_id: PRINCIPAL.organizationId, name: `s${index}`, site: "lab" }),
  );
  await parts.store.write(async (transaction) => void (await transaction.insertInto("robots").values(rows).execute()));
  const call = parts.call({ body: null, query: null, path: { fleet_id: id } });
  for (const operation of [reconcileFleet, previewReconcile]) {
    const answer = await operation(parts.context)(call);
    expect([answer.status, bodyOf(answer)]).toMatchObject([409, { detail: expect.stringMatching(/^More than 1000/) }]);
  }
  expect(await parts.store.reader.selectFrom("fleet_members").selectAll().execute()).toHaveLength(1);
});

describe("robots of another organization", () => {
  it.each<[string, Parameters<typeof selectRobotIds>[2]]>([
    ["by a site", { site: "lab" }],
    ["by a label", { labels: { line: "2" } }],
    ["by two labels", { labels: { line: "2", cell: "x" } }],
  ])("%s → not selected", async (_what, selector) => {
    await using parts = await openServiceParts();
    const { store, context, call } = parts;
    const stranger = { ...PRINCIPAL, organizationId: "org_2" };
    await parts.register("r1", { site: "lab", labels: { line: "2", cell: "x" } });
    const [own = ""] = await selectRobotIds(store.reader, "org_1", selector);
    expect(own).toMatch(/^rob_/);
    expect(await selectRobotIds(store.reader, "org_2", selector)).toEqual([]);
    expect([...(await findRobotIds(store.reader, "org_2", ["r1", own]))]).toEqual([]);
    const body = fleetPreviewSchema.parse({ selector });
    expect((await previewFleet(context)(call({ body, query: null, principal: stranger }))).status).toBe(422);
  });
});

it("robot of another organization among the members, by a mistake → what reconciling changes does not show it", async () => {
  await using parts = await openServiceParts();
  await parts.addModel("pi");
  await parts.register("r1", { site: "lab" });
  const { id } = await createdFleet(parts, { selection: { selector: { site: "lab" } } });
  await parts.store.write(async (transaction) => {
    const foreign = robotRow({ id: "rob_foreign", organization_id: "org_2", name: "secret" });
    await transaction.insertInto("robots").values(foreign).execute();
    await transaction.insertInto("fleet_members").values({ fleet_id: id, robot_id: foreign.id }).execute();
  });
  const call = parts.call({ body: null, query: null, path: { fleet_id: id } });
  expect(bodyOf(await previewReconcile(parts.context)(call))).toMatchObject({ joining: [], leaving: [] });
});

it("reconciling fails at its last step → the members and the peak stay", async () => {
  await using parts = await openServiceParts();
  await parts.addModel("pi");
  for (const name of ["r1", "r2"]) await parts.register(name, { site: "lab" });
  const { id } = await createdFleet(parts, { selection: { selector: { site: "lab" } }, peak_active_robots: 2 });
  await parts.register("r1", { site: "elsewhere" });
  const entry = await parts.store.reader.selectFrom("audit_log").select("id").executeTakeFirstOrThrow();
  const call = parts.call({ body: null, query: null, path: { fleet_id: id } });
  // The entry of the change cannot be added: it has the id of another.
  await expect(reconcileFleet({ ...parts.context, newId: () => entry.id })(call)).rejects.toThrow();
  expect(bodyOf(await getFleet(parts.context)(call))).toMatchObject({
    peak_active_robots: 2,
    robots: { registered: 2 },
  });
});

describe("many mistakes → a bounded number of findings", () => {
  const twice = Array.from({ length: 1000 }, () => "a");
  const unknown = Array.from({ length: 1000 }, (_, index) => `r${index}`);
  const fleet = { name: "f", peak_active_robots: 1, readiness_mode: "always_ready" };
  const create = ({ context, call }: ServiceParts, robots: readonly string[]) =>
    createFleet(context)(
      call({ body: fleetCreateSchema.parse({ ...fleet, subject: "none", selection: { robots } }), query: null }),
    );
  const preview = ({ context, call }: ServiceParts, robots: readonly string[]) =>
    previewFleet(context)(call({ body: fleetPreviewSchema.parse({ subject: "none", robots }), query: null }));

  it.each([
    ["create, one robot twice", create, twice],
    ["create, unknown model and robots", create, unknown],
    ["preview, one robot twice", preview, twice],
    ["preview, unknown model and robots", preview, unknown],
  ])("%s", async (_what, ask, robots) => {
    await using parts = await openServiceParts();
    expect(bodyOf(await ask(parts, robots))).toMatchObject({ detail: { length: FINDINGS_MAXIMUM } });
  });
});

describe("report-fleets", () => {
  const report = ({ context }: ServiceParts, store = context.store) =>
    createReportFleets({ ...context, store }).run(new AbortController().signal);
  const remove = ({ context, call }: ServiceParts, fleetId: string) =>
    removeFleet(context)(call({ body: null, query: null, path: { fleet_id: fleetId } }));
  const reported = ({ store }: ServiceParts) =>
    store.reader.selectFrom("reported_states").select(["subject_id", "state"]).execute();

  async function openListening(): Promise<ServiceParts> {
    const parts = await openServiceParts();
    await parts.addModel("pi", { last_probed_at: parts.at() });
    await parts.register("r1");
    const webhook = webhookRow({ created_at: parts.at() });
    await parts.store.write((transaction) => transaction.insertInto("webhooks").values(webhook).execute());
    return parts;
  }

  it("fleet removed while its members are read → not announced as blocked for having none", async () => {
    await using parts = await openListening();
    const { id } = await createdFleet(parts);
    // After the webhooks and the fleets.
    const store = changedAfterQuery(parts.store, () => remove(parts, id), 2);
    await report(parts, store);
    const states = (await reported(parts)).map(({ state }) => state);
    expect(states).not.toContain("blocked");
  });

  it("webhook created after fleets changed → these are noted, not announced; later ones are", async () => {
    await using parts = await openListening();
    const { context, store } = parts;
    await createdFleet(parts);
    await setHealth(parts, "healthy");
    await createReconcileFleets(context, HOUR_MS).run(new AbortController().signal);
    parts.pass(1000);
    await store.write((transaction) => transaction.updateTable("webhooks").set({ created_at: parts.at() }).execute());
    await report(parts);
    expect(await reported(parts)).toMatchObject([{ state: "ready" }]);
    const later = await createdFleet(parts, { name: "later" });
    await setHealth(parts, "healthy");
    await createReconcileFleets(context, HOUR_MS).run(new AbortController().signal);
    await report(parts);
    const told = await store.reader.selectFrom("webhook_outbox").select("body").execute();
    expect(told.map(({ body }) => JSON.parse(body))).toMatchObject([
      { type: "fleet.ready", data: { fleet_id: later.id, status: "ready", status_before: null, blocker: null } },
    ]);
  });

  it("fleet removed → the state that was told of it is forgotten: each run reads all of them", async () => {
    await using parts = await openListening();
    const { id } = await createdFleet(parts);
    await report(parts);
    expect(await reported(parts)).toEqual([{ subject_id: id, state: "preparing" }]);
    await remove(parts, id);
    expect(await reported(parts)).toEqual([]);
  });
});

it("preparations: the newest hundred of each model are kept", async () => {
  await using parts = await openServiceParts();
  const { store, context, at } = parts;
  const observe = (modelSlug: string, seconds: number) => {
    const id = context.newId("prep");
    const observation = { id, model_slug: modelSlug, checkpoint_id: "c", region: "r", seconds, observed_at: at() };
    return store.write((transaction) => addPreparations(transaction, [observation]));
  };
  await observe("omega", 1);
  for (let seconds = 1; seconds <= 101; seconds += 1) await observe("pi", seconds);
  const found = await loadPreparations(store.reader, ["pi", "omega"]);
  expect(found.get("pi")).toEqual(Array.from({ length: 100 }, (_, index) => index + 2));
  expect(found.get("omega")).toEqual([1]);
});
