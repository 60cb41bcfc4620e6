import { beforeAll, describe, expect } from "vitest";

import { STEADY } from "./catalog.ts";
import type { Client, Loc, Name, Sent } from "./client.ts";
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

    it.each<[name: Name, sent: (of: Belongings) => Sent]>([
      ["getRobot", ({ robot_id: robotId }) => ({ path: { robot: robotId } })],
      ["getRobot", () => ({ path: { robot: "r1" } })],
      ["getRegistration", ({ robot_id: robotId }) => ({ path: { robot: robotId } })],
      ["getRegistration", () => ({ path: { robot: "r1" } })],
      ["getRobotHistory", ({ robot_id: robotId }) => ({ path: { robot: robotId } })],
      ["getRobotHistory", () => ({ path: { robot: "r1" } })],
      ["removeRobot", ({ robot_id: robotId }) => ({ path: { robot: robotId } })],
      ["removeRobot", () => ({ path: { robot: "r1" } })],
      ["renameRobot", ({ robot_id: robotId }) => ({ path: { robot: robotId }, body: { name: "r9" } })],
      ["renameRobot", () => ({ path: { robot: "r1" }, body: { name: "r9" } })],
      ["removeFleet", ({ fleet_id: fleetId }) => ({ path: { fleet_id: fleetId } })],
      ["getFleet", ({ fleet_id: fleetId }) => ({ path: { fleet_id: fleetId } })],
      ["previewReconcile", ({ fleet_id: fleetId }) => ({ path: { fleet_id: fleetId } })],
      ["reconcileFleet", ({ fleet_id: fleetId }) => ({ path: { fleet_id: fleetId } })],
      ["getFleetDetails", ({ fleet_id: fleetId }) => ({ path: { fleet_id: fleetId } })],
      [
        "updateFleetModel",
        ({ fleet_id: fleetId }) => ({ path: { fleet_id: fleetId }, body: { subject: STEADY.oldest } }),
      ],
      ["getDeployment", ({ deployment_id: deploymentId }) => ({ path: { deployment_id: deploymentId } })],
      ["pollDeployment", ({ deployment_id: deploymentId }) => ({ path: { deployment_id: deploymentId } })],
      ["retireDeployment", ({ deployment_id: deploymentId }) => ({ path: { deployment_id: deploymentId } })],
      ["revokeApiKey", ({ key_id: keyId }) => ({ path: { key_id: keyId } })],
    ])("%s of another organization → 404, as if it did not exist", async (name, sent) => {
      const before = await seen();
      const detail = await stranger.refused("NotFound", name, sent(theirs));
      const detailOfUnknown = await stranger.refused("NotFound", name, {
        ...sent(theirs),
        path: Object.fromEntries(
          Object.entries(sent(theirs).path ?? {}).map(([key, id]) => [
            key,
            `${id.split("_")[0]}_00000000000000000000000000`,
          ]),
        ),
      });
      const generic = (sentence: string) => sentence.replaceAll(/[a-z]+_[0-9a-hjkmnp-tv-z]{26}|\br1\b|r1_0+/g, "ID");
      expect(generic(detail)).toBe(generic(detailOfUnknown));
      expect(await seen()).toEqual(before);
    });

    it.each<[name: Name, sent: (of: Belongings) => Sent, loc: Loc]>([
      [
        "createFleet",
        ({ robot_id: robotId }) => ({ body: fleetOf("f", { selection: { robots: [robotId] } }) }),
        ["body", "selection", "robots", 0],
      ],
      [
        "createFleet",
        () => ({ body: fleetOf("f", { selection: { robots: ["r1"] } }) }),
        ["body", "selection", "robots", 0],
      ],
      [
        "createFleet",
        () => ({ body: fleetOf("f", { selection: { selector: { site: "secret-site" } } }) }),
        ["body", "selection", "selector"],
      ],
      [
        "createFleet",
        () => ({ body: fleetOf("f", { selection: { selector: { labels: { team: "secret-team" } } } }) }),
        ["body", "selection", "selector"],
      ],
      ["previewFleet", ({ robot_id: robotId }) => ({ body: { robots: [robotId] } }), ["body", "robots", 0]],
      ["previewFleet", () => ({ body: { robots: ["r1"] } }), ["body", "robots", 0]],
      ["previewFleet", () => ({ body: { selector: { site: "secret-site" } } }), ["body", "selector"]],
      [
        "createDeployment",
        ({ robot_id: robotId }) => ({ body: { model: STEADY.slug, robot: robotId } }),
        ["body", "robot"],
      ],
      ["createDeployment", () => ({ body: { model: STEADY.slug, robot: "r1" } }), ["body", "robot"]],
    ])("%s with ids of another organization → 422, as if they did not exist", async (name, sent, loc) => {
      await stranger.invalid([loc], name, sent(theirs));
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
