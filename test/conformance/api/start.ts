import { rm } from "node:fs/promises";

import type { StoreLocation } from "../../../src/service/kernel/store/store.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";
import { sharedPostgres } from "../../support/service/postgres.ts";
import { QUICK, startReplicas } from "../../support/service/replicas.ts";
import { newSqliteFolder } from "../../support/service/sqlite-folder.ts";
import { createDatabaseWithSchema } from "../../support/service/stores.ts";
import { catalogText, FAILING_AT_FIRST, IDLE, WARMING } from "./catalog.ts";
import { createClient } from "./client.ts";
import { startInferenceServer } from "./inference.ts";
import type { Target } from "./target.ts";

/** One per test, and more for tests with several. */
const ORGANIZATIONS = 600;

/** A dozen endpoints are always expected, and each probe takes a dozen statements: more frequent probes would be most of the load. */
const READINESS = { ...QUICK, expectedMs: 400, tickMs: 50 };

/** One replica on SQLite. */
export async function startOnSqlite(): Promise<Target> {
  const dataDirectory = await newSqliteFolder("conformance-");
  const remove = () => rm(dataDirectory, { recursive: true, force: true });
  return startTarget({ kind: "sqlite", dataDirectory }, 1, remove);
}

/** `count` replicas on one PostgreSQL database. */
export async function startOnPostgres(count: number): Promise<Target> {
  const postgres = await sharedPostgres();
  const url = await createDatabaseWithSchema(postgres);
  return startTarget({ kind: "postgres", url, connectTimeoutMs: PATIENCE_MS }, count, () =>
    postgres.dropDatabases([url]),
  );
}

async function startTarget(store: StoreLocation, count: number, remove: () => PromiseLike<void>): Promise<Target> {
  const resources = new AsyncDisposableStack();
  resources.defer(async () => remove());
  try {
    const inference = resources.use(await startInferenceServer(FAILING_AT_FIRST));
    const replicas = resources.use(
      await startReplicas({
        store,
        count,
        catalog: catalogText(inference, [IDLE, WARMING]),
        readiness: READINESS,
        organizations: ORGANIZATIONS,
      }),
    );
    let used = 0;
    const [url = ""] = replicas.urls;
    return {
      url,
      inference,
      async organization() {
        const key = replicas.keys[used];
        if (key === undefined) throw new Error(`The suite needs more than ${ORGANIZATIONS} organizations`);
        used += 1;
        let requests = 0;
        const nextUrl = () => {
          requests += 1;
          return replicas.urls[requests % count] ?? url;
        };
        return createClient(nextUrl, key);
      },
      [Symbol.asyncDispose]: () => resources.disposeAsync(),
    };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}
