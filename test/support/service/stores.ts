import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, describe } from "vitest";

import { openStore } from "../../../src/service/kernel/store/open-store.ts";
import type { StoreLocation } from "../../../src/service/kernel/store/store.ts";
import { memoryFolder } from "../memory.ts";
import { testMachine } from "../robot/machine.ts";
import { PATIENCE_MS } from "../run/patience.ts";
import { type Cluster, databaseOf, sharedPostgres, WITHOUT_POSTGRES } from "./postgres.ts";
import { newSqliteFolder } from "./sqlite-folder.ts";

/** Creates an empty store for one test, in the form that `startService` takes as `store`. */
export type NewStore = () => Promise<StoreLocation>;

/**
 * Defines the same tests on SQLite and on PostgreSQL. Each `newStore()` returns a store with empty tables, each `newPlace()` one without
 * tables.
 *
 *     describeOnEachStore("POST /v1/fleets", (newStore) => {
 *       it("…", async () => {
 *         await using service = await startService({ store: await newStore() });
 */
export function describeOnEachStore(name: string, define: (newStore: NewStore, newPlace: NewStore) => void): void {
  describe(`${name} (SQLite)`, () => {
    const { withSchema, empty } = useSqlite();
    define(withSchema, empty);
  });
  describe.skipIf(WITHOUT_POSTGRES)(`${name} (PostgreSQL)`, { tags: "needs/postgres" }, () => {
    const { withSchema, empty } = usePostgres();
    define(withSchema, empty);
  });
}

/** Like `usePostgres`, with SQLite in folders. */
export function useSqlite(): { readonly empty: NewStore; readonly withSchema: NewStore } {
  const folders: string[] = [];
  afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
  const removedLater = (folder: string): StoreLocation => {
    folders.push(folder);
    return { kind: "sqlite", dataDirectory: folder };
  };
  return {
    empty: async () => removedLater(await mkdtemp(join(memoryFolder, "store-"))),
    withSchema: async () => removedLater(await newSqliteFolder("store-")),
  };
}

/** Databases for the tests of the surrounding `describe`, dropped after it. */
export interface Databases {
  /** Without tables. */
  empty(): Promise<PostgresLocation>;
  /** With empty tables. */
  withSchema(): Promise<PostgresLocation>;
}

export type PostgresLocation = Extract<StoreLocation, { readonly kind: "postgres" }>;

/** Call where tests are defined. */
export function usePostgres(): Databases {
  const urls: string[] = [];
  afterAll(async () => {
    if (urls.length > 0) await (await sharedPostgres()).dropDatabases(urls);
  });
  const droppedLater = (url: string): PostgresLocation => {
    urls.push(url);
    // On a machine that is stopped and continued a connection may take longer than the limit of production.
    return { kind: "postgres", url, connectTimeoutMs: PATIENCE_MS };
  };
  return {
    empty: async () => droppedLater(await (await sharedPostgres()).createDatabase()),
    withSchema: async () => droppedLater(await createDatabaseWithSchema(await sharedPostgres())),
  };
}

/** A database with empty tables, copied from a template because that is cheaper than creating the tables. */
export async function createDatabaseWithSchema(cluster: Cluster): Promise<string> {
  const template = templates.get(cluster) ?? makeTemplate(cluster);
  templates.set(cluster, template);
  return cluster.createDatabase(`template ${await template}`);
}

const templates = new WeakMap<Cluster, Promise<string>>();

async function makeTemplate(cluster: Cluster): Promise<string> {
  const url = await cluster.createDatabase();
  await (await openStore({ kind: "postgres", url }, testMachine))[Symbol.asyncDispose]();
  return databaseOf(url);
}
