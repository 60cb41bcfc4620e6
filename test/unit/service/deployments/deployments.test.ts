import { describe, expect, it } from "vitest";

import { deploymentViewSchema } from "../../../../src/api/deployments.ts";
import { validationErrorBodySchema } from "../../../../src/api/wire/errors.ts";
import { judge, type Situation, type Verdict } from "../../../../src/service/deployments/transition.ts";
import { createDeployment, retireDeployment } from "../../../../src/service/deployments/operations.ts";
import { listCurrentDeployments } from "../../../../src/service/deployments/queries.ts";
import { createReconcileDeployments } from "../../../../src/service/deployments/tasks.ts";
import { endpointRow } from "../../../support/service/rows.ts";
import {
  bodyOf,
  changedBeforeWrites,
  openServiceParts,
  type ServiceParts,
} from "../../../support/service/service-parts.ts";

const CREATED = "2026-03-01T12:00:00.000Z";
const CREATED_MS = Date.parse(CREATED);
const LATER = "2026-03-01T12:01:00.000Z";
const QUARTER_HOUR_MS = 900_000;

const fresh: Situation = {
  status: "preparing",
  created_at: CREATED,
  activated_at: null,
  isCompatible: true,
  health: "unknown",
};
const running: Situation = { ...fresh, status: "active", activated_at: LATER, health: "healthy" };

const preparing: Verdict = { status: "preparing", last_error_code: null };
const active: Verdict = { status: "active", last_error_code: null };
const failed = (lastErrorCode: Verdict["last_error_code"]): Verdict => ({
  status: "failed",
  last_error_code: lastErrorCode,
});

describe("judge", () => {
  it.each<[what: string, situation: Situation, age_ms: number, verdict: Verdict]>([
    ["new, endpoint not probed", fresh, 0, preparing],
    ["new, the endpoint is healthy", { ...fresh, health: "healthy" }, 0, active],
    ["new, the endpoint does not answer yet", { ...fresh, health: "failing" }, 60_000, preparing],
    ["right before the timeout", fresh, QUARTER_HOUR_MS - 1, preparing],
    ["timeout", { ...fresh, health: "failing" }, QUARTER_HOUR_MS, failed("preparation_timeout")],
    ["timeout, endpoint never probed", fresh, QUARTER_HOUR_MS, failed("preparation_timeout")],
    ["healthy after the timeout", { ...fresh, status: "failed", health: "healthy" }, QUARTER_HOUR_MS * 9, active],
    ["the clock was set back before its start", fresh, -3_600_000, preparing],
    ["active and healthy, indefinitely", running, QUARTER_HOUR_MS * 1000, active],
    ["active, the endpoint fails", { ...running, health: "failing" }, QUARTER_HOUR_MS * 2, failed("endpoint_failing")],
    [
      "failed, the endpoint still fails",
      { ...running, status: "failed", health: "failing" },
      0,
      failed("endpoint_failing"),
    ],
    ["failed, the endpoint is back", { ...running, status: "failed" }, QUARTER_HOUR_MS * 2, active],
    ["active, the endpoint's address changed", { ...running, health: "unknown" }, QUARTER_HOUR_MS * 2, active],
    [
      "failed, the endpoint's address changed",
      { ...running, status: "failed", health: "unknown" },
      QUARTER_HOUR_MS * 2,
      preparing,
    ],
    ["the robot can no longer run it", { ...running, isCompatible: false }, 0, failed("robot_incompatible")],
    [
      "the robot moved to a region without an endpoint",
      { ...running, health: null },
      QUARTER_HOUR_MS * 2,
      failed("no_endpoint_in_region"),
    ],
    [
      "neither robot nor endpoint suits → the robot's reason first",
      { ...fresh, isCompatible: false, health: null },
      0,
      failed("robot_incompatible"),
    ],
  ])("%s", (_what, situation, ageMs, verdict) => {
    expect(judge(situation, CREATED_MS + ageMs)).toEqual(verdict);
  });
});

const deploy = async ({ context, call }: ServiceParts, model: string, robot: string) =>
  createDeployment(context)(call({ body: { model, robot }, query: null }));

const deployed = async (parts: ServiceParts, model: string, robot: string) =>
  deploymentViewSchema.parse(bodyOf(await deploy(parts, model, robot)));

const deploymentOf = ({ store }: ServiceParts) =>
  store.reader.selectFrom("deployments").select(["status", "last_error_code"]).executeTakeFirstOrThrow();

const statusesOf = async ({ store }: ServiceParts) =>
  (await store.reader.selectFrom("deployments").select("status").orderBy("id").execute()).map(({ status }) => status);

const nextProbeOf = async ({ store }: ServiceParts) =>
  (await store.reader.selectFrom("endpoints").select("next_probe_at").executeTakeFirstOrThrow()).next_probe_at;

const setHealth = ({ store }: ServiceParts, health: "healthy" | "unknown" | "failing") =>
  store.write((transaction) => transaction.updateTable("endpoints").set({ health }).execute());

const run = ({ run: once }: ReturnType<typeof createReconcileDeployments>) => once(new AbortController().signal);

describe("a deployment waiting for its endpoint", () => {
  it("schedules an immediate probe and wakes the tasks", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi", { health: "unknown" });
    await parts.register("r1");
    expect(await deployed(parts, "pi", "r1")).toMatchObject({ status: "preparing" });
    expect([await nextProbeOf(parts), parts.nudges()]).toEqual([parts.at(), 1]);
  });

  it("healthy endpoint → no additional probe", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi");
    await parts.register("r1");
    expect(await deployed(parts, "pi", "r1")).toMatchObject({ status: "active" });
    expect(await nextProbeOf(parts)).toBe(parts.at(300_000));
  });

  it("waits again → another immediate probe", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi");
    await parts.register("r1");
    await deployed(parts, "pi", "r1");
    await setHealth(parts, "failing");
    const task = createReconcileDeployments(parts.context);
    await run(task);
    expect(await deploymentOf(parts)).toEqual({ status: "failed", last_error_code: "endpoint_failing" });
    expect(await nextProbeOf(parts)).toBe(parts.at(300_000));
    await setHealth(parts, "unknown");
    await run(task);
    expect(await deploymentOf(parts)).toEqual({ status: "preparing", last_error_code: null });
    expect(await nextProbeOf(parts)).toBe(parts.at());
  });
});

describe("deploying", () => {
  it("the model that the robot already runs, by slug or by checkpoint → nothing changes", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi");
    await parts.register("r1");
    const first = await deployed(parts, "pi", "r1");
    for (const subject of ["pi", "ckpt_pi"]) expect(await deployed(parts, subject, "r1")).toEqual(first);
    expect([parts.nudges(), first.status]).toEqual([1, "active"]);
  });

  it("a model whose deployment failed → a new deployment replaces it", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi");
    await parts.register("r1");
    const { id } = await deployed(parts, "pi", "r1");
    await setHealth(parts, "failing");
    await run(createReconcileDeployments(parts.context));
    const second = await deployed(parts, "pi", "r1");
    expect([second.id === id, second.status, await statusesOf(parts)]).toEqual([
      false,
      "preparing",
      ["retired", "preparing"],
    ]);
  });

  it.each<[model: string, robot: string, findings: readonly string[]]>([
    ["pi", "cart", ["body.robot: Value error, the model needs a robot of type arm; the robot is cart"]],
    ["pi", "far", ["body.robot: Value error, the model has no endpoint in the robot's region nowhere"]],
    [
      "none",
      "nobody",
      ["body.model: Value error, the catalog has no such model", "body.robot: Value error, there is no such robot"],
    ],
  ])("%s to %s → refused, with the reason", async (model, robot, findings) => {
    await using parts = await openServiceParts();
    await parts.addModel("pi");
    await parts.require("pi", { robot_types: ["arm"] });
    await parts.register("cart", { robot_type_id: "cart" });
    await parts.register("far", { region: "nowhere" });
    const { detail } = validationErrorBodySchema.parse(bodyOf(await deploy(parts, model, robot)));
    expect(detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`)).toEqual(findings);
    expect(await statusesOf(parts)).toEqual([]);
  });
});

it.each(["models", "checkpoints", "endpoints"] as const)(
  "withdrawn from the %s → not available for new deployments",
  async (table) => {
    await using parts = await openServiceParts();
    await parts.addModel("pi");
    await parts.register("r1");
    const withdrawn = { withdrawn_at: parts.at() };
    await parts.store.write((transaction) => transaction.updateTable(table).set(withdrawn).execute());
    for (const subject of ["pi", "ckpt_pi"]) expect((await deploy(parts, subject, "r1")).status).toBe(422);
  },
);

it("retirement → once each in the answer, the store and the ledger", async () => {
  await using parts = await openServiceParts();
  await parts.addModel("pi");
  await parts.register("r1");
  const { id } = await deployed(parts, "pi", "r1");
  const nudges = parts.nudges();
  parts.pass(5000);
  const retire = () =>
    retireDeployment(parts.context)(parts.call({ body: null, query: null, path: { deployment_id: id } }));
  const expected = { status: "retired", retired_at: parts.at(), endpoint_url: null, active_generation_id: null };
  expect(bodyOf(await retire())).toMatchObject(expected);
  expect(parts.nudges()).toBe(nudges + 1);
  parts.pass(5000);
  expect(bodyOf(await retire())).toMatchObject(expected);
  expect(parts.nudges()).toBe(nudges + 1);
  const ledger = await parts.store.reader.selectFrom("usage_records").select("quantity").execute();
  expect(ledger).toEqual([{ quantity: 5 }]);
  const audited = parts.store.reader.selectFrom("audit_log").select("id").where("action", "=", "deployment.retire");
  expect(await audited.execute()).toHaveLength(1);
});

it("listCurrentDeployments: newest first, without retired ones and those of others, no more than wanted", async () => {
  await using parts = await openServiceParts();
  await parts.addModel("pi");
  const ids: string[] = [];
  for (const name of ["r1", "r2", "r3"]) {
    await parts.register(name);
    ids.push((await deployed(parts, "pi", name)).id);
  }
  const [oldest = "", retired = "", newest = ""] = ids;
  await retireDeployment(parts.context)(parts.call({ body: null, query: null, path: { deployment_id: retired } }));
  const list = async (organizationId: string, rows: number) =>
    (await listCurrentDeployments(parts.store.reader, organizationId, rows)).map(({ id }) => id);
  expect(await list("org_1", 3)).toEqual([newest, oldest]);
  expect(await list("org_1", 1)).toEqual([newest]);
  expect(await list("org_2", 3)).toEqual([]);
});

describe("reconcile-deployments", () => {
  it("first activation → recorded and kept", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi", { health: "unknown" });
    await parts.register("r1");
    expect((await deployed(parts, "pi", "r1")).activated_at).toBeNull();
    const task = createReconcileDeployments(parts.context);
    const seen: (string | null)[] = [];
    for (const health of ["healthy", "failing", "healthy"] as const) {
      parts.pass(1000);
      await setHealth(parts, health);
      await run(task);
      const row = await parts.store.reader.selectFrom("deployments").selectAll().executeTakeFirstOrThrow();
      seen.push(row.status, row.activated_at);
    }
    const first = parts.at(-2000);
    expect(seen).toEqual(["active", first, "failed", first, "active", first]);
  });

  it("changed requirements in the catalog → an unchanged robot is checked again", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi");
    await parts.register("r1");
    await deployed(parts, "pi", "r1");
    const task = createReconcileDeployments(parts.context);
    await run(task);
    await parts.require("pi", { robot_types: ["cart"] });
    await run(task);
    expect(await deploymentOf(parts)).toEqual({ status: "failed", last_error_code: "robot_incompatible" });
    await parts.require("pi", {});
    await run(task);
    expect(await deploymentOf(parts)).toEqual({ status: "active", last_error_code: null });
  });

  it("endpoint withdrawn from the catalog → its robots keep it, and no other robot gets it", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi");
    const there = endpointRow({
      checkpoint_id: "ckpt_pi",
      region: "there",
      health: "healthy",
      next_probe_at: parts.at(),
    });
    await parts.store.write((transaction) => transaction.insertInto("endpoints").values(there).execute());
    await parts.require("pi", { robot_types: ["arm"] });
    await parts.register("stays", { region: "there" });
    await parts.register("comes");
    for (const name of ["stays", "comes"]) await deployed(parts, "pi", name);
    const withdrawn = { withdrawn_at: parts.at() };
    await parts.store.write((transaction) =>
      transaction.updateTable("endpoints").set(withdrawn).where("region", "=", "there").execute(),
    );
    await parts.register("comes", { region: "there" });
    const task = createReconcileDeployments(parts.context);
    const errorsAfter = async (stays: object) => {
      await parts.register("stays", { region: "there", ...stays });
      await run(task);
      const rows = parts.store.reader.selectFrom("deployments").select("last_error_code").orderBy("id");
      return (await rows.execute()).map(({ last_error_code: code }) => code);
    };
    expect(await errorsAfter({})).toEqual([null, "no_endpoint_in_region"]);
    expect(await errorsAfter({ robot_type_id: "cart" })).toEqual(["robot_incompatible", "no_endpoint_in_region"]);
    expect(await errorsAfter({})).toEqual([null, "no_endpoint_in_region"]);
    await parts.register("comes");
    expect(await errorsAfter({})).toEqual([null, null]);
  });

  it("robot registered again meanwhile → checked again under its lock", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi", { health: "unknown" });
    await parts.register("r1");
    await parts.require("pi", { robot_types: ["arm"] });
    await deployed(parts, "pi", "r1");
    await setHealth(parts, "healthy");
    parts.pass(1000);
    const store = changedBeforeWrites(parts.store, () => parts.register("r1", { robot_type_id: "cart" }));
    await run(createReconcileDeployments({ ...parts.context, store }));
    expect(await deploymentOf(parts)).toEqual({ status: "failed", last_error_code: "robot_incompatible" });
  });

  it("deployment retired meanwhile → unchanged", async () => {
    await using parts = await openServiceParts();
    await parts.addModel("pi", { health: "unknown" });
    await parts.register("r1");
    const { id } = await deployed(parts, "pi", "r1");
    await setHealth(parts, "healthy");
    const retire = () =>
      retireDeployment(parts.context)(parts.call({ body: null, query: null, path: { deployment_id: id } }));
    const store = changedBeforeWrites(parts.store, retire);
    await run(createReconcileDeployments({ ...parts.context, store }));
    expect(await deploymentOf(parts)).toEqual({ status: "retired", last_error_code: null });
  });
});
