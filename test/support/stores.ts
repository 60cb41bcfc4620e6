import { afterAll, beforeAll, describe } from "vitest";

import type { StoreLocation } from "../../src/service/store/store.ts";
import type { Postgres } from "./postgres.ts";
import { startPostgres, WITHOUT_POSTGRES } from "./postgres.ts";

/** Makes an empty store for one test: what `startService` takes as `store`. */
export type NewStore = () => Promise<StoreLocation | undefined>;

/**
 * Defines the same tests on SQLite and on PostgreSQL, one cluster for the file and an empty database for each `newStore()`.
 *
 *     describeOnEachStore("POST /v1/fleets", (newStore) => {
 *       it("…", async () => {
 *         await using service = await startService({ store: await newStore() });
 */
export function describeOnEachStore(name: string, define: (newStore: NewStore) => void): void {
  describe(`${name} (SQLite)`, () => define(() => Promise.resolve(undefined)));
  describe.skipIf(WITHOUT_POSTGRES)(`${name} (PostgreSQL)`, () => {
    let postgres: Postgres;
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(() => postgres[Symbol.asyncDispose]());
    define(async () => ({ kind: "postgres", url: await postgres.createDatabase() }));
  });
}
