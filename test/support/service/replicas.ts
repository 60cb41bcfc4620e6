import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import type { ReadinessTimes } from "../../../src/service/endpoints/prober.ts";
import { createLog } from "../../../src/service/kernel/log.ts";
import type { StoreLocation } from "../../../src/service/kernel/store/store.ts";
import { createService } from "../../../src/service/service.ts";
import { openBackstage } from "./organizations.ts";

export interface ReplicaOptions {
  readonly store: StoreLocation;
  /** SQLite takes one. */
  readonly count: number;
  /** The model catalog, as YAML. */
  readonly catalog: string;
  readonly readiness?: ReadinessTimes;
  readonly clock?: Clock;
  /** How many organizations there are to be. */
  readonly organizations: number;
}

/** Processes of one service, as far as the store and the network can tell: each with connections, tasks and caches of its own. */
export interface Replicas extends AsyncDisposable {
  readonly urls: readonly string[];
  /** A key of each organization, that may do everything. */
  readonly keys: readonly string[];
  /** Everything they logged, one after the other. */
  log(): string;
}

/** So quick that a test sees everything happen, in the same order as an operator would. */
export const QUICK: ReadinessTimes = {
  expectedMs: 100,
  idleMs: 2000,
  repeatMs: 40,
  probeTimeoutMs: 2000,
  tickMs: 25,
};

export async function startReplicas(options: ReplicaOptions): Promise<Replicas> {
  const { store, count, catalog, readiness = QUICK, clock = systemClock } = options;
  const resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "replicas-"));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const models = join(folder, "models.yaml");
  await writeFile(models, catalog);
  const lines: string[] = [];
  const urls: string[] = [];
  try {
    const keys = await makeOrganizations(options);
    for (let index = 0; index < count; index += 1) {
      const log = createLog("debug", { write: (line) => void lines.push(line) });
      const service = resources.use(
        createService(
          {
            store,
            listen: { host: "127.0.0.1", port: 0 },
            bootstrapKeyFile: null,
            modelsFile: models,
            rateLimit: null,
            readiness,
          },
          { clock, files: systemFiles, random: systemRandom, log },
        ),
      );
      const started = await service.start();
      if (started.state !== "listening") throw new Error(`The service did not start: ${JSON.stringify(started)}`);
      urls.push(started.url);
    }
    return { urls, keys, log: () => lines.join(""), [Symbol.asyncDispose]: () => resources.disposeAsync() };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

/** Before there are services: on SQLite, two that write in one process stand in each other's way. */
async function makeOrganizations({ store, organizations }: ReplicaOptions): Promise<readonly string[]> {
  await using backstage = await openBackstage(store);
  return await backstage.organizations(organizations);
}
