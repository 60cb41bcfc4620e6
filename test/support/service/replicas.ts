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
  /** Number of replicas. SQLite supports one. */
  readonly count: number;
  /** The model catalog, as YAML. */
  readonly catalog: string;
  readonly readiness?: ReadinessTimes;
  readonly clock?: Clock;
  readonly organizations: number;
}

/** Replicas of one service in this process, each with its own connections, tasks and caches. */
export interface Replicas extends AsyncDisposable {
  readonly urls: readonly string[];
  /** A key with all scopes for each organization. */
  readonly keys: readonly string[];
  /** The logs of all replicas, concatenated. */
  log(): string;
}

/** Intervals short enough that a test can observe all transitions, in the same order as in production. */
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

/** Called before the services start: on SQLite two writers in one process would block each other. */
async function makeOrganizations({ store, organizations }: ReplicaOptions): Promise<readonly string[]> {
  await using backstage = await openBackstage(store);
  return await backstage.organizations(organizations);
}
