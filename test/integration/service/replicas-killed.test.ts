/** @module-tag needs/postgres */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { describe, expect, it, onTestFinished } from "vitest";

import { systemClock } from "../../../src/platform/clock.ts";
import { createClient } from "../../conformance/api/client.ts";
import { fleetOf } from "../../conformance/api/fleets.ts";
import { register } from "../../conformance/api/registering.ts";
import { testFolder } from "../../support/folder.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";
import { times } from "../../support/run/tier.ts";
import { WITHOUT_POSTGRES } from "../../support/service/postgres.ts";
import { RobotComputer } from "../../support/service/robot-computer.ts";
import { usePostgres } from "../../support/service/stores.ts";
import { testService } from "../../support/service/test-service.ts";
import { startServe } from "./service-process.ts";

const SOON = { timeout: PATIENCE_MS, interval: 100 };
/** Claims expire after ten seconds; the clock of the surviving replica is past that. */
const AFTER_THE_CLAIM_MS = 11_000;
/** About the duration of the first renewal by a replica. */
const RENEWAL_MS = 30;
/** A service in this process uses the same path. */
const keyFile = (folder: string) => join(folder, "bootstrap-key");

async function serve(database: string, folder: string) {
  const replica = await startServe(keyFile(folder), "--database", database, "--models", join(folder, "models.yaml"));
  onTestFinished(() => replica.kill());
  return replica;
}

/** An inference endpoint that accepts probes but answers none until `heal` is called. */
async function startSilentEndpoint() {
  let isSilent = true;
  let probes = 0;
  const server = createServer((_request, response) => {
    probes += 1;
    if (!isSilent) response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    probes: () => probes,
    heal() {
      isSilent = false;
    },
  };
}

describe.skipIf(WITHOUT_POSTGRES)("replica killed with SIGKILL", () => {
  const databases = usePostgres();

  it("during a probe → another replica takes over the claim, and the fleet becomes ready", async () => {
    const folder = testFolder("killed");
    const { url: database } = await databases.empty();
    const endpoint = await startSilentEndpoint();
    await writeFile(
      join(folder, "models.yaml"),
      JSON.stringify({
        models: [
          {
            slug: "pi0.5",
            checkpoints: [
              {
                id: "ckpt_a",
                created_at: "2026-01-01T00:00:00Z",
                endpoints: [{ region: "us-west-2", url: endpoint.url }],
              },
            ],
          },
        ],
      }),
    );
    const doomed = await serve(database, folder);
    await expect.poll(endpoint.probes, SOON).toBeGreaterThanOrEqual(1);
    const first = createClient(() => doomed.url, doomed.key);
    await register(first, ["r1", "r2"]);
    const fleet = await first.call("createFleet", { body: fleetOf("f") });
    expect(fleet).toMatchObject({ status: "preparing", robots: { registered: 2, waiting: 2 } });

    await doomed.kill();
    endpoint.heal();
    const survivor = await testService({
      store: { kind: "postgres", url: database },
      dataDirectory: folder,
      clock: { ...systemClock, wallMs: () => systemClock.wallMs() + AFTER_THE_CLAIM_MS },
      configuration: { modelsFile: join(folder, "models.yaml") },
    });
    const second = createClient(() => survivor.url, doomed.key);
    const get = async () => second.call("getFleet", { path: { fleet_id: fleet.id } });
    await expect.poll(async () => (await get()).status, SOON).toBe("ready");
    expect(endpoint.probes()).toBeGreaterThanOrEqual(2);
  });

  it("during a renewal, committed or not → the robot's credential works at another replica", async () => {
    const folder = testFolder("killed");
    const { url: database } = await databases.empty();
    await writeFile(join(folder, "models.yaml"), "models: []\n");
    const survivor = await testService({ store: { kind: "postgres", url: database }, dataDirectory: folder });
    let url = survivor.url;
    const robot = new RobotComputer(() => url);
    const started = await robot.start();
    await survivor.send("POST", "/v1/robots/approve", { user_code: started.user_code });
    await robot.poll(started);
    const installation = async () => (await survivor.send("GET", "/v1/robots/arm-1/installation")).json();
    const rounds = times(3, 10);
    for (let round = 0; round <= rounds; round += 1) {
      const doomed = await serve(database, folder);
      url = doomed.url;
      const interrupted = robot.requestRenewal().catch(() => null);
      // Kill at different moments of the renewal; in the last round, after its commit.
      if (round < rounds) await sleep((RENEWAL_MS * round) / rounds);
      else await expect.poll(installation, SOON).toMatchObject({ generation: round + 2 });
      await doomed.kill();
      await interrupted;
      url = survivor.url;
      expect((await robot.heartbeat()).status).toBe(200);
      await robot.renew();
      expect(await installation()).toMatchObject({ state: "active", generation: round + 2 });
    }
  });
});
