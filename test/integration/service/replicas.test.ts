import { afterEach, describe, expect, it, onTestFinished } from "vitest";

import { systemClock } from "../../../src/platform/clock.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import { catalogText, COLD, FAILING_AT_FIRST, STEADY } from "../../conformance/api/catalog.ts";
import type { Client } from "../../conformance/api/client.ts";
import { createClient } from "../../conformance/api/client.ts";
import { untilDeployment } from "../../conformance/api/deployments.ts";
import { fleetOf, untilFleet } from "../../conformance/api/fleets.ts";
import type { InferenceServer } from "../../conformance/api/inference.ts";
import { startInferenceServer } from "../../conformance/api/inference.ts";
import { register } from "../../conformance/api/robots.ts";
import { SOON } from "../../conformance/api/waiting.ts";
import { times } from "../../support/run/tier.ts";
import { sharedPostgres, WITHOUT_POSTGRES } from "../../support/service/postgres.ts";
import { QUICK, startReplicas } from "../../support/service/replicas.ts";
import { usePostgres } from "../../support/service/stores.ts";

/** How often a race is run: one that can be lost is lost sooner or later. */
const ROUNDS = times(5, 40);
const HOUR_MS = 3_600_000;

interface World {
  readonly inference: InferenceServer;
  /** The same key at each replica. */
  readonly clients: readonly [Client, Client];
  /** Rows of a query behind the replicas' backs. */
  query(text: string, values?: readonly string[]): Promise<Record<string, unknown>[]>;
}

describe.skipIf(WITHOUT_POSTGRES)("two replicas on one database", () => {
  const databases = usePostgres();
  const resources: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const resource of resources.splice(0).toReversed()) await resource[Symbol.asyncDispose]();
  });

  async function world(options: { readonly clock?: Clock; readonly failing?: readonly string[] } = {}): Promise<World> {
    const { clock = systemClock, failing = FAILING_AT_FIRST } = options;
    const store = await databases.withSchema();
    const inference = await startInferenceServer(failing);
    resources.push(inference);
    const replicas = await startReplicas({
      store,
      count: 2,
      catalog: catalogText(inference),
      organizations: 1,
      clock,
    });
    resources.push(replicas);
    const [key = ""] = replicas.keys;
    const [first = "", second = ""] = replicas.urls;
    const connection = await (await sharedPostgres()).connect(store.url);
    onTestFinished(() => connection.end());
    return {
      inference,
      clients: [createClient(() => first, key), createClient(() => second, key)],
      query: async (text, values = []) => (await connection.query(text, [...values])).rows,
    };
  }

  it("creating fleets of one name at once: one of them is made", async () => {
    const { clients, query } = await world();
    await register(clients[0], ["r1", "r2"]);
    for (let round = 0; round < ROUNDS; round += 1) {
      const body = fleetOf(`f${round}`);
      const answers = await Promise.all(clients.map((client) => client.send("createFleet", { body })));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    }
    expect(await clients[1].call("listFleets")).toHaveLength(ROUNDS);
    // Nothing is left of those that lost.
    expect(await query("select count(*)::int as count from generations")).toEqual([{ count: ROUNDS }]);
    expect(await query("select count(*)::int as count from audit_log where action = 'fleet.create'")).toEqual([
      { count: ROUNDS },
    ]);
  });

  it("registering one robot at once: one robot, and a registration of one of the two, whole", async () => {
    const { clients } = await world();
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = `r${round}`;
      const views = await Promise.all(
        clients.map((client, index) => register(client, [name], { site: `s${index}`, labels: { of: `s${index}` } })),
      );
      expect(new Set(views.flat().map(({ id }) => id)).size).toBe(1);
      const { site, labels } = await clients[0].call("getRobot", { path: { robot: name } });
      expect(labels).toEqual({ of: site });
    }
  });

  it("updating one fleet at once: every update is a generation, one is in force, the others are superseded", async () => {
    const { clients, query } = await world();
    await register(clients[0], ["r1", "r2"]);
    const fleet = await clients[0].call("createFleet", { body: fleetOf("f", { subject: "dead-vla" }) });
    const path = { fleet_id: fleet.id };
    const subjects = ["cold-vla", "walked-vla", "ckpt_walked_2", STEADY.oldest, "dead-vla", STEADY.slug, "picky-vla"];
    const promised = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = await Promise.all(
        clients.flatMap((client, index) =>
          [0, 1].map((turn) => {
            const subject = subjects[(round + 2 * index + turn) % subjects.length];
            return client.call("updateFleetModel", { path, body: { subject } });
          }),
        ),
      );
      for (const { update } of answers) if (update !== null) promised.add(update.generation_id);
    }
    // At once: the replicas go on meanwhile.
    const generations = await query(
      `select g.id, g.superseded_at, f.generation_id, f.update_generation_id
       from generations g join fleets f on f.id = g.fleet_id where f.id = $1`,
      [fleet.id],
    );
    const ids = generations.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining([...promised]));
    const view = await clients[1].call("getFleet", { path });
    const inForce = [view.active_model?.generation_id, view.update?.generation_id].filter((id) => id !== undefined);
    const [row] = generations;
    const kept = [row?.["generation_id"], row?.["update_generation_id"]].filter((id) => id !== null);
    const standing = generations.filter(({ superseded_at: supersededAt }) => supersededAt === null).map(({ id }) => id);
    expect(standing.toSorted()).toEqual(kept.toSorted());
    expect(inForce.length).toBeGreaterThan(0);
    // And it settles on what was asked last.
    await clients[0].call("updateFleetModel", { path, body: { subject: STEADY.oldest } });
    await untilFleet(clients[1], fleet, { status: "ready", subject: STEADY.oldest, update: null });
    expect(
      await query("select id from generations where fleet_id = $1 and superseded_at is null", [fleet.id]),
    ).toHaveLength(1);
  });

  it("deploying to one robot at once: one deployment is current, the others are retired", async () => {
    const { clients, query } = await world();
    await register(clients[0], ["r1"]);
    const models = [STEADY.newest, STEADY.oldest, "picky-vla", "walked-vla"];
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.all(
        clients.flatMap((client, index) =>
          [0, 1].map((turn) => {
            const model = models[(round + 2 * index + turn) % models.length];
            return client.call("createDeployment", { body: { model, robot: "r1" } });
          }),
        ),
      );
      const { items } = await clients[round % 2 === 0 ? 0 : 1].call("listDeployments");
      expect(items.filter(({ status }) => status !== "retired")).toHaveLength(1);
    }
    // No two of them were active, and so metered, at one time.
    const overlaps = await query(
      `select a.id from usage_records a join usage_records b on a.id < b.id
       where a.period_start < b.period_end and b.period_start < a.period_end`,
    );
    expect(overlaps).toEqual([]);
  });

  it("a key that one revokes, the other refuses with the next request", async () => {
    const { clients } = await world();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id, api_key: apiKey } = await clients[0].call("createApiKey", { body: { label: "k" } });
      const elsewhere = clients[1].as(apiKey);
      await elsewhere.call("listRobots");
      await clients[0].call("revokeApiKey", { path: { key_id: id } });
      expect(await elsewhere.refused("Unauthorized", "listRobots")).toBe("API key has been revoked");
    }
  });

  it("of both exchanging one login, one is given a token", async () => {
    const { clients } = await world();
    const verifier = "v".repeat(43);
    for (let round = 0; round < ROUNDS; round += 1) {
      const { exchange_id: exchangeId } = await clients[0].call("startLogin", {
        body: { verifier, callback_url: "http://127.0.0.1:1/" },
      });
      const decided = await clients[1].call("decideLogin", { body: { exchange_id: exchangeId, decision: "approve" } });
      const code = new URL(decided.redirect_url).searchParams.get("code");
      const answers = await Promise.all([
        clients[0].send("exchangeLogin", { body: { exchange_id: exchangeId, code, verifier } }),
        clients[1].send("pollLogin", { body: { exchange_id: exchangeId, verifier } }),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    }
  });

  it("an endpoint is probed by one of them at a time", async () => {
    const { clients, inference } = await world();
    // Long enough for the other one to look for something to do.
    inference.delay(COLD.endpoint, 3 * QUICK.tickMs);
    await register(clients[0], ["r1", "r2"]);
    await clients[0].call("createFleet", { body: fleetOf("f", { subject: COLD.slug }) });
    const before = inference.probes(COLD.endpoint);
    await expect.poll(() => inference.probes(COLD.endpoint), SOON).toBeGreaterThan(before + ROUNDS);
    expect(inference.probesAtOnce(COLD.endpoint)).toBe(1);
  });

  it("hours that both cut at once are entered once, and add up", async () => {
    const clock = shiftedClock();
    const { clients, query } = await world({ clock });
    const robots = Array.from({ length: 30 }, (_, index) => `r${index}`);
    await register(clients[0], robots);
    await Promise.all(
      robots.map(async (robot, index) => {
        const client = clients[index % 2 === 0 ? 0 : 1];
        const created = await client.call("createDeployment", { body: { model: STEADY.slug, robot } });
        await untilDeployment(client, created, { status: "active" });
      }),
    );
    // A robot that becomes another one nudges the tasks of the replica it registers with; a new one does not.
    const refit = (region: string) =>
      Promise.all(clients.map((client, index) => register(client, [`nudge-${index}`], { region })));
    await refit("x0");
    for (let hour = 1; hour <= 3; hour += 1) {
      clock.shiftMs += HOUR_MS;
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

/** The machine's clock, with time that passed at once. */
function shiftedClock(): Clock & { shiftMs: number } {
  const clock = {
    ...systemClock,
    shiftMs: 0,
    wallMs: () => systemClock.wallMs() + clock.shiftMs,
    monotonicMs: () => systemClock.monotonicMs() + clock.shiftMs,
  };
  return clock;
}
