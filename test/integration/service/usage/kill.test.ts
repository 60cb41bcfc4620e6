/** @module-tag needs/program */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";

import { deploymentListSchema } from "../../../../src/api/deployments.ts";
import { usageListSchema } from "../../../../src/api/usage.ts";
import { startInferenceServer } from "../../../conformance/api/inference.ts";
import { testFolder } from "../../../support/folder.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { times } from "../../../support/run/tier.ts";
import { storeFlags } from "../../../support/service/service-command.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { startServe } from "../service-process.ts";

const ROBOTS = ["r0", "r1", "r2"];
const ROUNDS = times(1, 3);
/** Pause between two changes of one robot, long enough for some deployments to be metered. */
const PACE_MS = 40;
const SOON = { timeout: PATIENCE_MS, interval: 100 } as const;

/** A service that can be killed and restarted on the same store. */
class KillableService {
  readonly #flags: readonly string[];
  readonly #keyFile: string;
  #running: Awaited<ReturnType<typeof startServe>> | null = null;

  constructor(flags: readonly string[], keyFile: string) {
    this.#flags = flags;
    this.#keyFile = keyFile;
  }

  async start(): Promise<void> {
    this.#running = await startServe(this.#keyFile, ...this.#flags);
  }

  async kill(): Promise<void> {
    await this.#running?.kill();
  }

  async send(method: string, path: string, body?: object): Promise<unknown> {
    const { url = "", key = "" } = this.#running ?? {};
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = await answer.json();
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`);
    return json;
  }
}

const catalogOf = (url: string, healthUrl: string) =>
  JSON.stringify({
    models: ["a", "b"].map((slug) => ({
      slug,
      checkpoints: [
        {
          id: `ckpt_${slug}`,
          created_at: "2026-01-01T00:00:00Z",
          endpoints: [{ region: "x", url, health_url: healthUrl }],
        },
      ],
    })),
  });

describeOnEachStore("usage of a service killed with SIGKILL", (newStore) => {
  it("every second of each deployment, outages included → in the ledger exactly once", async () => {
    const folder = testFolder("usage-kill");
    const inference = await startInferenceServer();
    onTestFinished(() => inference[Symbol.asyncDispose]());
    const models = join(folder, "models.yaml");
    await writeFile(models, catalogOf(inference.url, inference.healthUrl("any")));
    const where = storeFlags(await newStore());
    const service = new KillableService(
      [...where, "--models", models, "--no-rate-limit", "--log-level", "warn"],
      join(folder, "key"),
    );
    onTestFinished(() => service.kill());

    await service.start();
    const digest = `sha256:${"0".repeat(64)}`;
    for (const name of ROBOTS) {
      const body = { name, robot_type_id: "t", region: "x", configuration_digest: digest };
      await service.send("POST", "/v1/robots/setup", body);
    }
    let turns = 0;
    /** Switches the model of the robot, or retires it, until the service is killed. */
    const churn = async (robot: string) => {
      try {
        for (let turn = 0; ; turn += 1) {
          const body = { model: turn % 2 === 0 ? "a" : "b", robot };
          const { id } = z.object({ id: z.string() }).parse(await service.send("POST", "/v1/me/deployments", body));
          turns += 1;
          if (turn % 3 === 2) await service.send("DELETE", `/v1/me/deployments/${id}`);
          await sleep(PACE_MS);
        }
      } catch {
        // The service was killed during a request.
      }
    };
    const usage = async () => usageListSchema.parse(await service.send("GET", "/v1/me/usage")).items;
    const secondsOf = async (robot: string) =>
      (await usage()).reduce((total, item) => total + (item.robot === robot ? (item.quantity ?? 0) : 0), 0);
    for (let round = 0; round < ROUNDS; round += 1) {
      const turnsBefore = turns;
      const churning = ROBOTS.slice(1).map(churn);
      // The first robot keeps its deployment.
      await service.send("POST", "/v1/me/deployments", { model: "a", robot: "r0" });
      // Outages are metered too, so each round must meter some time while the service runs.
      const before = await secondsOf("r0");
      await expect.poll(() => secondsOf("r0"), SOON).toBeGreaterThan(before);
      await expect.poll(() => turns - turnsBefore, SOON).toBeGreaterThan(4);
      await service.kill();
      await Promise.all(churning);
      await service.start();
    }
    const deployments = async () => deploymentListSchema.parse(await service.send("GET", "/v1/me/deployments")).items;
    for (const { id } of await deployments()) await service.send("DELETE", `/v1/me/deployments/${id}`);

    const items = await usage();
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    const all = await deployments();
    // Each turn created a deployment, except the first of a round if the robot had that model.
    expect(all.length).toBeGreaterThanOrEqual(turns - ROUNDS * 2);
    for (const { id, activated_at: activatedAt, retired_at: retiredAt } of all) {
      const periods = items.filter(({ deployment_id: deploymentId }) => deploymentId === id);
      const seconds = periods.reduce((total, { quantity }) => total + (quantity ?? 0), 0);
      // The endpoint was always healthy, so the deployment was active from its activation to its retirement.
      const [from, to] = [activatedAt ?? retiredAt ?? "", retiredAt ?? ""];
      expect([id, seconds]).toEqual([id, secondOf(to) - secondOf(from)]);
    }
    const kept = all.filter(({ robot }) => robot === "r0");
    expect(kept).toHaveLength(1);
  });
});

const secondOf = (time: string) => Math.floor(Date.parse(time) / 1000);
