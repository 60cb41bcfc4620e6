import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";

import { deploymentListSchema } from "../../../../src/api/deployments.ts";
import { usageListSchema } from "../../../../src/api/usage.ts";
import { startInferenceServer } from "../../../conformance/api/inference.ts";
import { testFolder } from "../../../support/folder.ts";
import { endWithTest } from "../../../support/programs/children.ts";
import { SERVICE_PROGRAM } from "../../../support/programs/programs-built.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { times } from "../../../support/run/tier.ts";
import { storeFlags } from "../../../support/service/service-command.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

const ROBOTS = ["r0", "r1", "r2"];
const ROUNDS = times(1, 3);
/** Between two changes of one robot: quick, but not so quick that nothing lasts. */
const PACE_MS = 40;
const SOON = { timeout: PATIENCE_MS, interval: 100 } as const;
const listeningSchema = z.object({ url: z.string() });

/** A service that can be killed and started again on the same store. */
class Victim {
  url = "";
  readonly #words: readonly string[];
  readonly #key_file: string;
  #child: ChildProcess | null = null;

  constructor(words: readonly string[], keyFile: string) {
    this.#words = words;
    this.#key_file = keyFile;
  }

  async start(): Promise<void> {
    const words = ["serve", ...this.#words, "--listen", "127.0.0.1:0", "--bootstrap-key-file", this.#key_file];
    const child = spawn(process.execPath, [SERVICE_PROGRAM, ...words], { stdio: ["ignore", "pipe", "inherit"] });
    endWithTest(child);
    this.#child = child;
    const [line] = await once(child.stdout.setEncoding("utf8"), "data");
    this.url = listeningSchema.parse(JSON.parse(String(line))).url;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async send(method: string, path: string, body?: object): Promise<unknown> {
    const authorization = `Bearer ${(await readFile(this.#key_file, "utf8")).trim()}`;
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization, "content-type": "application/json" },
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

describeOnEachStore("usage of a service that is killed", (newStore) => {
  it("every second of every deployment is in the ledger once, those of the outages too", async () => {
    const folder = testFolder("usage-kill");
    const inference = await startInferenceServer();
    onTestFinished(() => inference[Symbol.asyncDispose]());
    const models = join(folder, "models.yaml");
    await writeFile(models, catalogOf(inference.url, inference.healthUrl("any")));
    const where = storeFlags(await newStore());
    const victim = new Victim(
      [...where, "--models", models, "--no-rate-limit", "--log-level", "warn"],
      join(folder, "key"),
    );
    onTestFinished(() => victim.kill());

    await victim.start();
    const digest = `sha256:${"0".repeat(64)}`;
    for (const name of ROBOTS) {
      const body = { name, robot_type_id: "t", region: "x", configuration_digest: digest };
      await victim.send("POST", "/v1/robots/setup", body);
    }
    let turns = 0;
    /** Robots change their models, and are left without, until the service is gone. */
    const churn = async (robot: string) => {
      try {
        for (let turn = 0; ; turn += 1) {
          const body = { model: turn % 2 === 0 ? "a" : "b", robot };
          const { id } = z.object({ id: z.string() }).parse(await victim.send("POST", "/v1/me/deployments", body));
          turns += 1;
          if (turn % 3 === 2) await victim.send("DELETE", `/v1/me/deployments/${id}`);
          await sleep(PACE_MS);
        }
      } catch {
        // It was killed in the middle of something.
      }
    };
    const usage = async () => usageListSchema.parse(await victim.send("GET", "/v1/me/usage")).items;
    const secondsOf = async (robot: string) =>
      (await usage()).reduce((total, item) => total + (item.robot === robot ? (item.quantity ?? 0) : 0), 0);
    for (let round = 0; round < ROUNDS; round += 1) {
      const turnsBefore = turns;
      const churning = ROBOTS.slice(1).map(churn);
      // The first robot keeps what it has.
      await victim.send("POST", "/v1/me/deployments", { model: "a", robot: "r0" });
      // The outages count too, so in each round something is added while the service runs.
      const before = await secondsOf("r0");
      await expect.poll(() => secondsOf("r0"), SOON).toBeGreaterThan(before);
      await expect.poll(() => turns - turnsBefore, SOON).toBeGreaterThan(4);
      await victim.kill();
      await Promise.all(churning);
      await victim.start();
    }
    const deployments = async () => deploymentListSchema.parse(await victim.send("GET", "/v1/me/deployments")).items;
    for (const { id } of await deployments()) await victim.send("DELETE", `/v1/me/deployments/${id}`);

    const items = await usage();
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    const all = await deployments();
    // Each turn made its own, but for the first of a round where the robot had that model.
    expect(all.length).toBeGreaterThanOrEqual(turns - ROUNDS * 2);
    for (const { id, activated_at: activatedAt, retired_at: retiredAt } of all) {
      const periods = items.filter(({ deployment_id: deploymentId }) => deploymentId === id);
      const seconds = periods.reduce((total, { quantity }) => total + (quantity ?? 0), 0);
      // The endpoint was healthy throughout: active from its activation to its retirement.
      const [from, to] = [activatedAt ?? retiredAt ?? "", retiredAt ?? ""];
      expect([id, seconds]).toEqual([id, secondOf(to) - secondOf(from)]);
    }
    const kept = all.filter(({ robot }) => robot === "r0");
    expect(kept).toHaveLength(1);
  });
});

const secondOf = (time: string) => Math.floor(Date.parse(time) / 1000);
