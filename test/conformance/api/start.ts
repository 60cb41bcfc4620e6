import { rm } from "node:fs/promises";

import type { StoreLocation } from "../../../src/service/kernel/store/store.ts";
import { sharedPostgres } from "../../support/service/postgres.ts";
import { QUICK, startReplicas } from "../../support/service/replicas.ts";
import { newSqliteFolder } from "../../support/service/sqlite-folder.ts";
import { createDatabaseWithSchema } from "../../support/service/stores.ts";
import { catalogText, FAILING_AT_FIRST, IDLE, LOSSY, WARMING } from "./catalog.ts";
import { createClient } from "./client.ts";
import { startInferenceServer } from "./inference.ts";
import type { Target } from "./target.ts";

/** One for each test, and some for the tests of several. */
const ORGANIZATIONS = 600;

/** A dozen endpoints are expected all the time, and the probes of each take a dozen statements: more of them would be most of the work. */
const READINESS = { ...QUICK, expectedMs: 400, tickMs: 50 };

/** One process on SQLite. */
export async function startOnSqlite(): Promise<Target> {
  const dataDirectory = await newSqliteFolder("conformance-");
  const remove = () => rm(dataDirectory, { recursive: true, force: true });
  return startTarget({ kind: "sqlite", dataDirectory }, 1, remove);
}

/** Processes on one database of PostgreSQL. */
export async function startOnPostgres(count: number): Promise<Target> {
  const postgres = await sharedPostgres();
  const url = await createDatabaseWithSchema(postgres);
  return startTarget({ kind: "postgres", url }, count, () => postgres.dropDatabases([url]));
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
        catalog: catalogText(inference, [LOSSY, IDLE, WARMING]),
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
