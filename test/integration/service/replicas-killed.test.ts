import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";

import * as z from "zod";
import { describe, expect, it, onTestFinished } from "vitest";

import { systemClock } from "../../../src/platform/clock.ts";
import { createClient } from "../../conformance/api/client.ts";
import { fleetOf } from "../../conformance/api/fleets.ts";
import { register } from "../../conformance/api/robots.ts";
import { endWithTest } from "../../support/programs/children.ts";
import { SERVICE_PROGRAM } from "../../support/programs/programs-built.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";
import { WITHOUT_POSTGRES } from "../../support/service/postgres.ts";
import { startService } from "../../support/service/service.ts";
import { usePostgres } from "../../support/service/stores.ts";

const listeningSchema = z.object({ event: z.literal("listening"), url: z.string() });
const SOON = { timeout: PATIENCE_MS, interval: 100 };
/** A claim lapses ten seconds after it was taken: by then it is so late for the other replica. */
const AFTER_THE_CLAIM_MS = 11_000;
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
    const folder = await mkdtemp(join(tmpdir(), "killed-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
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
    const survivor = await startService({
      store: { kind: "postgres", url: database },
      data_directory: folder,
      clock: { ...systemClock, wallMs: () => systemClock.wallMs() + AFTER_THE_CLAIM_MS },
      configuration: { models_file: join(folder, "models.yaml") },
    });
    onTestFinished(() => survivor[Symbol.asyncDispose]());
    const second = createClient(() => survivor.url, key);
    const get = async () => second.call("getFleet", { path: { fleet_id: fleet.id } });
    await expect.poll(async () => (await get()).status, SOON).toBe("ready");
    expect(endpoint.asked()).toBeGreaterThanOrEqual(2);
  });
});
