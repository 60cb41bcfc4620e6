import { describe, expect, it } from "vitest";

import { deploymentListSchema } from "../../../../src/api/deployments.ts";
import { usageListSchema } from "../../../../src/api/usage.ts";
import { type InferenceServer, startInferenceServer } from "../../../conformance/api/inference.ts";
import { times } from "../../../support/run/tier.ts";
import { WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { startReplicas } from "../../../support/service/replicas.ts";
import { usePostgres } from "../../../support/service/stores.ts";

/** Two models. Tests can make the endpoint of `flaky` fail. */
const catalogOf = ({ url, healthUrl }: InferenceServer) =>
  JSON.stringify({
    models: ["steady", "flaky"].map((slug) => ({
      slug,
      checkpoints: [
        {
          id: `ckpt_${slug}`,
          created_at: "2026-01-01T00:00:00Z",
          endpoints: [{ region: "here", url: `${url}/${slug}`, health_url: healthUrl(slug) }],
        },
      ],
    })),
  });

/** Minimum number of changes per robot; enough in the gate to reach every branch. */
const ROUNDS = times(8, 100);

describe.skipIf(WITHOUT_POSTGRES)("deployments across replicas", { tags: "needs/postgres" }, () => {
  const databases = usePostgres();

  it("three replicas deploy, fail and retire concurrently → one current deployment per robot, no second metered twice", async () => {
    const store = await databases.withSchema();
    await using inference = await startInferenceServer();
    await using replicas = await startReplicas({ store, count: 3, catalog: catalogOf(inference), organizations: 1 });
    let sent = 0;
    const send = (method: string, path: string, body?: object) => {
      const url = replicas.urls[sent++ % 3] ?? "";
      const headers = { authorization: `Bearer ${replicas.keys[0] ?? ""}`, "content-type": "application/json" };
      return fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    };
    const deployments = async () =>
      deploymentListSchema.parse(await (await send("GET", "/v1/me/deployments")).json()).items;
    const robots = ["r1", "r2", "r3"];
    for (const name of robots) {
      const digest = `sha256:${"0".repeat(64)}`;
      const body = { name, robot_type_id: "arm.v1", region: "here", configuration_digest: digest };
      expect((await send("POST", "/v1/robots/setup", body)).status).toBe(200);
    }
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
    expect(replicas.log()).not.toContain('"level":"error"');
  });
});
