import { describe, expect, it, onTestFinished } from "vitest";

import { deploymentListSchema, type DeploymentView, deploymentViewSchema } from "../../../../src/api/deployments.ts";
import { usageListSchema } from "../../../../src/api/usage.ts";
import { validationErrorBodySchema } from "../../../../src/api/wire/errors.ts";
import type { StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import { type InferenceServer, startInferenceServer } from "../../../conformance/api/inference.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { times } from "../../../support/run/tier.ts";
import { openBackstage } from "../../../support/service/organizations.ts";
import { WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { startReplicas } from "../../../support/service/replicas.ts";
import { describeOnEachStore, usePostgres } from "../../../support/service/stores.ts";

const SOON = { timeout: PATIENCE_MS, interval: 20 } as const;
const ARM = "arm.v1";

/** Two models for arms. Tests can make the endpoint of `flaky` fail. */
const catalogOf = ({ url, healthUrl }: InferenceServer) =>
  JSON.stringify({
    models: ["steady", "flaky"].map((slug) => ({
      slug,
      checkpoints: [
        {
          id: `ckpt_${slug}`,
          created_at: "2026-01-01T00:00:00Z",
          requirements: { robot_types: [ARM] },
          endpoints: ["here", "there"].map((region) => ({
            region,
            url: `${url}/${slug}`,
            health_url: healthUrl(slug),
          })),
        },
      ],
    })),
  });

interface Scene {
  readonly inference: InferenceServer;
  readonly store: StoreLocation;
  log(): string;
  send(method: string, path: string, body?: object): Promise<Response>;
  register(name: string, parts?: object): Promise<void>;
  deploy(model: string, robot: string): Promise<DeploymentView>;
  deployments(): Promise<readonly DeploymentView[]>;
  /** Waits until the deployment matches. */
  until(id: string, expected: object): Promise<DeploymentView>;
}

async function scene(store: StoreLocation, count = 1): Promise<Scene> {
  const resources = new AsyncDisposableStack();
  onTestFinished(() => resources.disposeAsync());
  const inference = resources.use(await startInferenceServer());
  const replicas = resources.use(
    await startReplicas({ store, count, catalog: catalogOf(inference), organizations: 1 }),
  );
  let sent = 0;
  const send: Scene["send"] = (method, path, body) => {
    const url = replicas.urls[sent++ % count] ?? "";
    const headers = { authorization: `Bearer ${replicas.keys[0] ?? ""}`, "content-type": "application/json" };
    return fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  };
  const deployments = async () =>
    deploymentListSchema.parse(await (await send("GET", "/v1/me/deployments")).json()).items;
  return {
    inference,
    store,
    send,
    deployments,
    log: () => replicas.log(),
    async register(name, parts = {}) {
      const digest = `sha256:${"0".repeat(64)}`;
      const body = { name, robot_type_id: ARM, region: "here", configuration_digest: digest, ...parts };
      expect((await send("POST", "/v1/robots/setup", body)).status).toBe(200);
    },
    async deploy(model, robot) {
      const answer = await send("POST", "/v1/me/deployments", { model, robot });
      expect(answer.status).toBe(200);
      return deploymentViewSchema.parse(await answer.json());
    },
    async until(id, expected) {
      const get = async () => deploymentViewSchema.parse(await (await send("GET", `/v1/deployments/${id}`)).json());
      await expect.poll(get, SOON).toMatchObject(expected);
      return get();
    },
  };
}

describeOnEachStore("deployments", (newStore) => {
  it("the model that the robot already runs, by slug or by checkpoint → nothing changes", async () => {
    const { register, deploy, deployments, until } = await scene(await newStore());
    await register("r1");
    const { id } = await deploy("steady", "r1");
    expect((await deploy("steady", "r1")).id).toBe(id);
    const active = await until(id, { status: "active" });
    expect(await deploy("ckpt_steady", "r1")).toEqual(active);
    expect(await deployments()).toEqual([active]);
  });

  it("incompatible or unknown model or robot → 422, and the robot keeps its deployment", async () => {
    const { register, deploy, deployments, until, send } = await scene(await newStore());
    await register("r1");
    const active = await until((await deploy("steady", "r1")).id, { status: "active" });
    await register("cart", { robot_type_id: "cart.v1" });
    await register("far", { region: "nowhere" });
    const refusal = async (model: string, robot: string) => {
      const answer = await send("POST", "/v1/me/deployments", { model, robot });
      expect(answer.status).toBe(422);
      return validationErrorBodySchema
        .parse(await answer.json())
        .detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
    };
    expect(await refusal("flaky", "cart")).toEqual([
      "body.robot: Value error, the model needs a robot of type arm.v1; the robot is cart.v1",
    ]);
    expect(await refusal("flaky", "far")).toEqual([
      "body.robot: Value error, the model has no endpoint in the robot's region nowhere",
    ]);
    expect(await refusal("none", "nobody")).toEqual([
      "body.model: Value error, the catalog has no such model",
      "body.robot: Value error, there is no such robot",
    ]);
    expect(await deployments()).toEqual([active]);
  });

  it("robot registers with another type or region → its deployment fails; with a supported one → active again", async () => {
    const { register, deploy, until, send } = await scene(await newStore());
    await register("r1");
    const { id, activated_at: activatedAt } = await until((await deploy("steady", "r1")).id, { status: "active" });
    await register("r1", { robot_type_id: "cart.v1" });
    await until(id, { status: "failed", last_error_code: "robot_incompatible", active_generation_id: null });
    await register("r1", { region: "nowhere" });
    await until(id, { status: "failed", last_error_code: "no_endpoint_in_region", endpoint_url: null });
    await register("r1", { region: "there" });
    await until(id, { status: "active", last_error_code: null, region: "there", activated_at: activatedAt });
    const usage = usageListSchema.parse(await (await send("GET", "/v1/me/usage")).json());
    expect(usage.items.every(({ deployment_id: deploymentId }) => deploymentId === id)).toBe(true);
  });

  it("endpoint withdrawn from the catalog → its robots keep it, but no other robot gets it", async () => {
    const { register, deploy, deployments, until, store } = await scene(await newStore());
    await using backstage = await openBackstage(store);
    await register("stays", { region: "there" });
    await register("comes");
    const stays = await until((await deploy("steady", "stays")).id, { status: "active" });
    const comes = await until((await deploy("steady", "comes")).id, { status: "active" });
    await backstage.store.write((transaction) =>
      transaction
        .updateTable("endpoints")
        .set({ withdrawn_at: new Date().toISOString() })
        .where("region", "=", "there")
        .execute(),
    );
    await register("comes", { region: "there" });
    const failed = await until(comes.id, { status: "failed", last_error_code: "no_endpoint_in_region" });
    // Several reconciliations later it still fails.
    for (let look = 0; look < 3; look += 1) {
      await register("stays", { region: "there", robot_type_id: look % 2 === 0 ? "cart.v1" : ARM });
      await until(stays.id, { status: look % 2 === 0 ? "failed" : "active" });
    }
    await register("stays", { region: "there" });
    await until(stays.id, { status: "active", region: "there" });
    expect((await deployments()).find(({ id }) => id === comes.id)).toEqual(failed);
    await register("comes");
    await until(comes.id, { status: "active", region: "here" });
  });

  it("failed endpoint, the same model deployed again → a new deployment replaces the failed one", async () => {
    const { register, deploy, deployments, until, inference } = await scene(await newStore());
    await register("r1");
    const { id } = await until((await deploy("flaky", "r1")).id, { status: "active" });
    inference.fail("flaky");
    await until(id, { status: "failed", last_error_code: "endpoint_failing" });
    const second = await deploy("flaky", "r1");
    expect(second.id).not.toBe(id);
    expect((await deployments()).map(({ status }) => status)).toEqual(["retired", "preparing"]);
    inference.heal("flaky");
    await until(second.id, { status: "active" });
  });
});

/** Minimum number of changes per robot; enough in the gate to reach every branch. */
const ROUNDS = times(8, 100);

describe.skipIf(WITHOUT_POSTGRES)("deployments across replicas", { tags: "needs/postgres" }, () => {
  const databases = usePostgres();

  it("three replicas deploy, fail and retire concurrently → one current deployment per robot, no second metered twice", async () => {
    const store = await databases.withSchema();
    const { register, send, deployments, inference, log } = await scene(store, 3);
    const robots = ["r1", "r2", "r3"];
    for (const robot of robots) await register(robot);
    const usage = async () => usageListSchema.parse(await (await send("GET", "/v1/me/usage")).json()).items;
    const churn = robots.map(async (robot, offset) => {
      const isMetered = async () => (await usage()).some((item) => item.robot === robot);
      for (let round = offset; round < ROUNDS || !(await isMetered()); round += 1) {
        const model = round % 2 === 0 ? "steady" : "flaky";
        const answers = await Promise.all([0, 1, 2].map(() => send("POST", "/v1/me/deployments", { model, robot })));
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
        if (round % 3 === 0) inference.fail("flaky");
        else inference.heal("flaky");
        const current = (await deployments()).filter(
          ({ robot: of, retired_at: retiredAt }) => of === robot && retiredAt === null,
        );
        expect(current).toHaveLength(1);
        if (round % 5 === 0) await send("DELETE", `/v1/me/deployments/${current[0]?.id ?? ""}`);
      }
    });
    await Promise.all(churn);
    for (const { id } of await deployments()) await send("DELETE", `/v1/me/deployments/${id}`);
    const items = await usage();
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    for (const robot of robots) {
      const own = items
        .filter((item) => item.robot === robot)
        .map(({ period_start: periodStart, period_end: periodEnd, quantity }) => [
          Date.parse(periodStart ?? ""),
          Date.parse(periodEnd ?? ""),
          quantity,
        ])
        .toSorted(([left = 0], [right = 0]) => (left ?? 0) - (right ?? 0));
      expect(own.length).toBeGreaterThan(0);
      for (const [index, [from = 0, to = 0, quantity]] of own.entries()) {
        expect(quantity).toBe(((to ?? 0) - (from ?? 0)) / 1000);
        expect(own[index + 1]?.[0] ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(to ?? 0);
      }
    }
    expect(log()).not.toContain('"level":"error"');
  });
});
