import { describe, expect } from "vitest";

import { OTHER_REGION, PICKY, REGION, SHAKY, STEADY } from "./catalog.ts";
import type { Client, Loc } from "./client.ts";
import { register } from "./registering.ts";
import type { Tests } from "./tests.ts";
import type { DeploymentView } from "./views.ts";
import { soon } from "./waiting.ts";

/** Waits until the deployment matches. */
export async function untilDeployment(
  client: Client,
  { id }: Pick<DeploymentView, "id">,
  expected: object,
): Promise<DeploymentView> {
  return soon(async () => {
    const deployment = await client.call("getDeployment", { path: { deployment_id: id } });
    expect(deployment).toMatchObject(expected);
    return deployment;
  });
}

async function deploy(client: Client, robot: string, model: string = STEADY.slug): Promise<DeploymentView> {
  return client.call("createDeployment", { body: { model, robot } });
}

export function deploymentsConformance({ target, it }: Tests): void {
  describe("deployments", () => {
    it("create → becomes active; get, poll, list and account show the same", async ({ client }) => {
      const [robot] = await register(client, ["r1"]);
      const created = await deploy(client, "r1");
      expect(created).toMatchObject({
        model: STEADY.slug,
        subject_id: STEADY.newest,
        robot: "r1",
        robot_id: robot?.id,
        region: REGION,
        last_error_code: null,
        retired_at: null,
      });
      const active = await untilDeployment(client, created, { status: "active" });
      expect(active.endpoint_url).toBe(`${target().inference.url}/steady`);
      expect(active.activated_at).not.toBeNull();
      expect(active.active_generation_id).not.toBeNull();
      expect(await client.call("pollDeployment", { path: { deployment_id: active.id } })).toEqual(active);
      const { deployments, deployment_count: deploymentCount } = await client.call("getAccount");
      expect([deployments, deploymentCount]).toEqual([[active], 1]);
      expect(await client.call("listDeployments")).toEqual({ items: [active] });
    });

    it("create with a checkpoint and the id of a robot → accepted", async ({ client }) => {
      const [robot] = await register(client, ["r1"], { region: OTHER_REGION });
      const created = await deploy(client, robot?.id ?? "", STEADY.oldest);
      expect(created).toMatchObject({
        subject_id: STEADY.oldest,
        robot: "r1",
        robot_id: robot?.id,
        region: OTHER_REGION,
      });
    });

    it("create, endpoint known to be healthy → active at once", async ({ client }) => {
      await register(client, ["r1", "r2"]);
      await untilDeployment(client, await deploy(client, "r1"), { status: "active" });
      expect((await deploy(client, "r2")).status).toBe("active");
    });

    it("create with another model for the robot → the first deployment is retired", async ({ client }) => {
      await register(client, ["r1"]);
      const first = await deploy(client, "r1");
      const second = await deploy(client, "r1", PICKY.slug);
      expect(second.id).not.toBe(first.id);
      expect(await client.call("getDeployment", { path: { deployment_id: first.id } })).toMatchObject({
        status: "retired",
        retired_at: expect.any(String),
      });
      const { items } = await client.call("listDeployments");
      expect(items.map(({ id }) => id)).toEqual([first.id, second.id]);
    });

    it("list: current, robot_id → only the deployments that are not retired, only those of the robot", async ({
      client,
    }) => {
      const [r1, r2] = await register(client, ["r1", "r2"]);
      const past = await deploy(client, "r1");
      const other = await deploy(client, "r2");
      const present = await deploy(client, "r1", PICKY.slug);
      const listed = async (query: Readonly<Record<string, string>>) =>
        (await client.call("listDeployments", { query })).items.map(({ id }) => id);
      expect(await listed({ current: "true" })).toEqual([other.id, present.id]);
      expect(await listed({ current: "false" })).toEqual([past.id, other.id, present.id]);
      expect(await listed({ robot_id: r1?.id ?? "" })).toEqual([past.id, present.id]);
      expect(await listed({ robot_id: r1?.id ?? "", current: "1" })).toEqual([present.id]);
      const stranger = await target().organization();
      expect(await stranger.call("listDeployments", { query: { robot_id: r2?.id ?? "" } })).toEqual({ items: [] });
      await client.invalid([["query", "current"]], "listDeployments", { query: { current: "maybe" } });
    });

    it("concurrent creates for one robot → one current deployment", async ({ client }) => {
      await register(client, ["r1"]);
      const models = [STEADY.slug, STEADY.oldest, PICKY.slug];
      const sent = Array.from({ length: 9 }, (_, index) => deploy(client, "r1", models[index % models.length]));
      await Promise.all(sent);
      const { items } = await client.call("listDeployments");
      expect(items.filter(({ retired_at: retiredAt }) => retiredAt === null)).toHaveLength(1);
      expect(items.filter(({ status }) => status !== "retired")).toHaveLength(1);
    });

    it("retire repeatedly → the same record", async ({ client }) => {
      await register(client, ["r1"]);
      const created = await deploy(client, "r1");
      const path = { deployment_id: created.id };
      const retired = await client.call("retireDeployment", { path });
      expect(retired).toMatchObject({ id: created.id, status: "retired", retired_at: expect.any(String) });
      expect(await client.call("retireDeployment", { path })).toEqual(retired);
      expect(await client.call("getDeployment", { path })).toEqual(retired);
      expect((await deploy(client, "r1")).id).not.toBe(created.id);
    });

    it.each<[what: string, body: unknown, locs: readonly Loc[]]>([
      ["an unknown model", { model: "none", robot: "r1" }, [["model"]]],
      ["an unknown robot", { model: STEADY.slug, robot: "none" }, [["robot"]]],
      ["an unknown model and an unknown robot", { model: "none", robot: "none" }, [["model"], ["robot"]]],
      ["empty names", { model: "", robot: "" }, [["model"], ["robot"]]],
    ])("create with %s → 422", async (_what, body, locs) => {
      const client = await target().organization();
      await register(client, ["r1"]);
      const where = locs.map((loc) => ["body", ...loc]);
      await client.invalid(where, "createDeployment", { body });
      expect(await client.call("listDeployments")).toEqual({ items: [] });
    });

    it("robot of another type, or without an endpoint in its region → never active", async ({ client }) => {
      await register(client, ["wheels"], { robot_type_id: "wheelbarrow" });
      await register(client, ["far"], { region: "moon" });
      for (const [robot, model] of [
        ["wheels", PICKY.slug],
        ["far", STEADY.slug],
      ] as const) {
        const { status, body } = await client.send("createDeployment", { body: { model, robot } });
        if (status === 200) expect(body).toMatchObject({ status: "failed", last_error_code: expect.any(String) });
        else expect(status).toBe(422);
      }
    });

    it("endpoint fails → failed; recovers → active again", async ({ client }) => {
      await register(client, ["r1"]);
      const active = await untilDeployment(client, await deploy(client, "r1", SHAKY.slug), { status: "active" });
      target().inference.fail(SHAKY.endpoint);
      await untilDeployment(client, active, { status: "failed", last_error_code: expect.any(String) });
      target().inference.heal(SHAKY.endpoint);
      await untilDeployment(client, active, {
        status: "active",
        last_error_code: null,
        activated_at: active.activated_at,
      });
    });

    it("robot registers in another region → served from there", async ({ client }) => {
      await register(client, ["r1"]);
      const active = await untilDeployment(client, await deploy(client, "r1"), { status: "active" });
      await register(client, ["r1"], { region: OTHER_REGION });
      await untilDeployment(client, active, { region: OTHER_REGION, status: "active" });
    });
  });
}
