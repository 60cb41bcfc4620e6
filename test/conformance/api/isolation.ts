import { beforeAll, describe, expect } from "vitest";

import { STEADY } from "./catalog.ts";
import type { Client, Loc, Name } from "./client.ts";
import { createFleet, fleetOf } from "./fleets.ts";
import { register } from "./registering.ts";
import type { Tests } from "./tests.ts";

/** Ids of what an organization has. */
interface Belongings {
  readonly robot_id: string;
  readonly fleet_id: string;
  readonly deployment_id: string;
  readonly key_id: string;
}

async function settle(client: Client): Promise<Belongings> {
  const [robot] = await register(client, ["r1", "r2"], { site: "secret-site", labels: { team: "secret-team" } });
  const fleet = await createFleet(client, "secret-fleet");
  const deployment = await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r1" } });
  const key = await client.call("createApiKey", { body: { label: "secret-label" } });
  return { robot_id: robot?.id ?? "", fleet_id: fleet.id, deployment_id: deployment.id, key_id: key.id };
}

const VERIFIER = "i".repeat(40);

export function isolationConformance({ target, it }: Tests): void {
  // Sequential: they compare what the owner sees before and after.
  describe("isolation of organizations", { concurrent: false }, () => {
    let owner: Client;
    let stranger: Client;
    let theirs: Belongings;
    beforeAll(async () => {
      owner = await target().organization();
      stranger = await target().organization();
      theirs = await settle(owner);
    });

    /** What the owner sees, except what changes by itself. */
    const seen = async () => [
      await owner.call("listRobots"),
      (await owner.call("listFleets")).map(({ id, name, subject, update }) => ({ id, name, subject, update })),
      (await owner.call("listDeployments")).items.map(({ id, subject_id: subjectId, retired_at: retiredAt }) => ({
        id,
        subject_id: subjectId,
        retired_at: retiredAt,
      })),
      (await owner.call("listApiKeys")).items.map(({ id, label, revoked_at: revokedAt }) => ({
        id,
        label,
        revoked_at: revokedAt,
      })),
    ];

    it.each<[name: Name, parameter: keyof Belongings, body?: object]>([
      ["getRobot", "robot_id"],
      ["getRegistration", "robot_id"],
      ["getRobotHistory", "robot_id"],
      ["removeRobot", "robot_id"],
      ["renameRobot", "robot_id", { name: "r9" }],
      ["removeFleet", "fleet_id"],
      ["getFleet", "fleet_id"],
      ["previewReconcile", "fleet_id"],
      ["reconcileFleet", "fleet_id"],
      ["getFleetDetails", "fleet_id"],
      ["updateFleetModel", "fleet_id", { subject: STEADY.oldest }],
      ["getDeployment", "deployment_id"],
      ["pollDeployment", "deployment_id"],
      ["retireDeployment", "deployment_id"],
      ["revokeApiKey", "key_id"],
    ])("%s of another organization → 404, as if it did not exist", async (name, parameter, body) => {
      const before = await seen();
      const unknown = `${theirs[parameter].split("_")[0]}_00000000000000000000000000`;
      const detailOf = async (id: string) => {
        const path = { [parameter === "robot_id" ? "robot" : parameter]: id };
        const detail = await stranger.refused("NotFound", name, { path, ...(body === undefined ? {} : { body }) });
        return detail.replaceAll(id, "ID");
      };
      for (const id of [theirs[parameter], ...(parameter === "robot_id" ? ["r1"] : [])]) {
        expect(await detailOf(id)).toBe(await detailOf(unknown));
      }
      expect(await seen()).toEqual(before);
    });

    const inFleet = (selection: object) => fleetOf("f", { selection });
    it.each<[name: Name, body: (of: Belongings) => object, loc: Loc]>([
      ["createFleet", ({ robot_id: id }) => inFleet({ robots: [id] }), ["selection", "robots", 0]],
      ["createFleet", () => inFleet({ robots: ["r1"] }), ["selection", "robots", 0]],
      ["createFleet", () => inFleet({ selector: { site: "secret-site" } }), ["selection", "selector"]],
      ["createFleet", () => inFleet({ selector: { labels: { team: "secret-team" } } }), ["selection", "selector"]],
      ["previewFleet", ({ robot_id: id }) => ({ robots: [id] }), ["robots", 0]],
      ["previewFleet", () => ({ robots: ["r1"] }), ["robots", 0]],
      ["previewFleet", () => ({ selector: { site: "secret-site" } }), ["selector"]],
      ["createDeployment", ({ robot_id: id }) => ({ model: STEADY.slug, robot: id }), ["robot"]],
      ["createDeployment", () => ({ model: STEADY.slug, robot: "r1" }), ["robot"]],
    ])("%s with ids of another organization → 422, as if they did not exist", async (name, body, loc) => {
      await stranger.invalid([["body", ...loc]], name, { body: body(theirs) });
    });

    it("lists and counts → nothing of other organizations", async () => {
      for (const name of [
        "listRobots",
        "listRegistrations",
        "listAudit",
        "listFleets",
        "listFleetNeeds",
        "listDeployments",
        "listApiKeys",
        "listUsage",
        "getAccount",
      ] as const) {
        const shown = JSON.stringify(await stranger.call(name));
        expect(shown).not.toContain("secret");
        for (const id of Object.values(theirs)) expect(shown).not.toContain(id);
      }
      expect(await stranger.call("getAccount")).toMatchObject({
        deployments: [],
        api_keys: [expect.anything()],
        deployment_count: 0,
        api_key_count: 1,
      });
    });

    it("same names in two organizations → separate", async () => {
      const before = await seen();
      const other = await target().organization();
      const mine = await settle(other);
      for (const [kind, id] of Object.entries(mine)) expect(id).not.toBe(theirs[kind as keyof Belongings]);
      expect((await other.call("getRobot", { path: { robot: "r1" } })).id).toBe(mine.robot_id);
      expect(await seen()).toEqual(before);
    });

    it("login approved by an organization → a session of that organization", async () => {
      const { exchange_id: exchangeId } = await stranger
        .as(null)
        .call("startLogin", { body: { verifier: VERIFIER, callback_url: "http://127.0.0.1:1/" } });
      await stranger.call("decideLogin", { body: { exchange_id: exchangeId, decision: "approve" } });
      const answer = await stranger
        .as(null)
        .call("pollLogin", { body: { exchange_id: exchangeId, verifier: VERIFIER } });
      if (answer.status !== "complete") throw new Error(answer.status);
      const session = stranger.as(answer.token);
      await session.refused("NotFound", "getFleet", { path: { fleet_id: theirs.fleet_id } });
      expect(JSON.stringify(await session.call("listRobots"))).not.toContain(theirs.robot_id);
    });
  });
}
