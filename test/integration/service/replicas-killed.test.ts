import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ChildProcess, spawn } from "node:child_process";

import * as z from "zod";
import { describe, expect, it, onTestFinished } from "vitest";

import { systemClock } from "../../../src/platform/clock.ts";
import { createClient } from "../../conformance/api/client.ts";
import { fleetOf } from "../../conformance/api/fleets.ts";
import { register } from "../../conformance/api/registering.ts";
import { testFolder } from "../../support/folder.ts";
import { endWithTest } from "../../support/programs/children.ts";
import { SERVICE_PROGRAM } from "../../support/programs/programs-built.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";
import { times } from "../../support/run/tier.ts";
import { WITHOUT_POSTGRES } from "../../support/service/postgres.ts";
import { RobotComputer } from "../../support/service/robot-computer.ts";
import { usePostgres } from "../../support/service/stores.ts";
import { testService } from "../../support/service/test-service.ts";

const listeningSchema = z.object({ event: z.literal("listening"), url: z.string() });
const SOON = { timeout: PATIENCE_MS, interval: 100 };
/** A claim lapses ten seconds after it was taken: by then it is so late for the other replica. */
const AFTER_THE_CLAIM_MS = 11_000;
/** About as long as the first renewal takes that a replica is asked for. */
const RENEWAL_MS = 30;
/** Where a service in this process keeps it, too. */
const keyFile = (folder: string) => join(folder, "bootstrap-key");

interface Replica {
  readonly child: ChildProcess;
  readonly url: string;
}

async function serve(database: string, folder: string): Promise<Replica> {
  const flags = ["--database", database, "--listen", "127.0.0.1:0", "--models", join(folder, "models.yaml")];
  const child = spawn(process.execPath, [SERVICE_PROGRAM, "serve", ...flags, "--bootstrap-key-file", keyFile(folder)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  endWithTest(child);
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(child.stdout, "data");
  return { child, url: listeningSchema.parse(JSON.parse(String(line))).url };
}

/** An inference endpoint that takes a probe and says nothing, until it is told to be healthy. */
async function startSilentEndpoint() {
  let isSilent = true;
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
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
    asked: () => asked,
    heal() {
      isSilent = false;
    },
  };
}

describe.skipIf(WITHOUT_POSTGRES)("a replica that is killed", () => {
  const databases = usePostgres();

  it("in the middle of a probe: another one takes its claim over, and the fleet becomes ready", async () => {
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
    await expect.poll(endpoint.asked, SOON).toBeGreaterThanOrEqual(1);
    const key = (await readFile(keyFile(folder), "utf8")).trim();
    const first = createClient(() => doomed.url, key);
    await register(first, ["r1", "r2"]);
    const fleet = await first.call("createFleet", { body: fleetOf("f") });
    expect(fleet).toMatchObject({ status: "preparing", robots: { registered: 2, waiting: 2 } });

    doomed.child.kill("SIGKILL");
    await once(doomed.child, "exit");
    endpoint.heal();
    const survivor = await testService({
      store: { kind: "postgres", url: database },
      dataDirectory: folder,
      clock: { ...systemClock, wallMs: () => systemClock.wallMs() + AFTER_THE_CLAIM_MS },
      configuration: { modelsFile: join(folder, "models.yaml") },
    });
    const second = createClient(() => survivor.url, key);
    const get = async () => second.call("getFleet", { path: { fleet_id: fleet.id } });
    await expect.poll(async () => (await get()).status, SOON).toBe("ready");
    expect(endpoint.asked()).toBeGreaterThanOrEqual(2);
  });

  it("in the middle of a renewal: the robot's value works at another one, whatever was committed", async () => {
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
      const lost = robot.requestRenewal().catch(() => null);
      // At many moments of it, and the last time when it is committed.
      if (round < rounds) await sleep((RENEWAL_MS * round) / rounds);
      else await expect.poll(installation, SOON).toMatchObject({ generation: round + 2 });
      doomed.child.kill("SIGKILL");
      await once(doomed.child, "exit");
      await lost;
      url = survivor.url;
      expect((await robot.heartbeat()).status).toBe(200);
      await robot.renew();
      expect(await installation()).toMatchObject({ state: "active", generation: round + 2 });
    }
  });
});
