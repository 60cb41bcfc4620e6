import { describe, expect, it, onTestFinished } from "vitest";

import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { catalogText, FAILING_AT_FIRST, STEADY } from "../../../conformance/api/catalog.ts";
import { createClient } from "../../../conformance/api/client.ts";
import { untilDeployment } from "../../../conformance/api/deployments.ts";
import { startInferenceServer } from "../../../conformance/api/inference.ts";
import { register } from "../../../conformance/api/registering.ts";
import { SOON } from "../../../conformance/api/waiting.ts";
import { sharedPostgres, WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { startReplicas } from "../../../support/service/replicas.ts";
import { usePostgres } from "../../../support/service/stores.ts";

const HOUR_MS = 3_600_000;

describe.skipIf(WITHOUT_POSTGRES)("two replicas on one database", { tags: "needs/postgres" }, () => {
  const databases = usePostgres();

  it("both replicas close the same hour concurrently → recorded once, and the sums are complete", async () => {
    let shiftMs = 0;
    const clock: Clock = {
      ...systemClock,
      wallMs: () => systemClock.wallMs() + shiftMs,
      monotonicMs: () => systemClock.monotonicMs() + shiftMs,
    };
    const store = await databases.withSchema();
    await using inference = await startInferenceServer(FAILING_AT_FIRST);
    const catalog = catalogText(inference);
    await using replicas = await startReplicas({ store, count: 2, catalog, organizations: 1, clock });
    const [key = ""] = replicas.keys;
    const [first = "", second = ""] = replicas.urls;
    const clients = [createClient(() => first, key), createClient(() => second, key)] as const;
    const connection = await (await sharedPostgres()).connect(store.url);
    onTestFinished(() => connection.end());
    const query = async (text: string): Promise<Record<string, unknown>[]> => (await connection.query(text)).rows;
    const robots = Array.from({ length: 30 }, (_, index) => `r${index}`);
    await register(clients[0], robots);
    await Promise.all(
      robots.map(async (robot, index) => {
        const client = clients[index % 2 === 0 ? 0 : 1];
        const created = await client.call("createDeployment", { body: { model: STEADY.slug, robot } });
        await untilDeployment(client, created, { status: "active" });
      }),
    );
    // A robot that changes its region nudges the tasks of the replica it registers with; a new one does not.
    const refit = (region: string) =>
      Promise.all(clients.map((client, index) => register(client, [`nudge-${index}`], { region })));
    await refit("x0");
    for (let hour = 1; hour <= 3; hour += 1) {
      shiftMs += HOUR_MS;
      await refit(`x${hour}`);
      await expect
        .poll(async () => (await query("select count(*)::int as count from usage_records"))[0]?.["count"], SOON)
        .toBe(hour * robots.length);
    }
    for (const { id } of (await clients[0].call("listDeployments")).items) {
      await clients[1].call("retireDeployment", { path: { deployment_id: id } });
    }
    const sums = await query(
      `select sum(quantity)::int as entered,
              extract(epoch from max(period_end::timestamptz) - min(period_start::timestamptz))::int as elapsed
       from usage_records group by deployment_id`,
    );
    expect(sums).toHaveLength(robots.length);
    for (const { entered, elapsed } of sums) expect(entered).toBe(elapsed);
  });
});
