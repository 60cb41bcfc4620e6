import { migrate } from "./migrator.ts";
import { openSqliteStore } from "./sqlite/store.ts";
import type { Store, StoreLocation, StoreMachine } from "./store.ts";

/**
 * Opens the store and brings its schema up to date. A data directory must exist; the database of a URL too.
 *
 * @param prepare `migrateExisting` when the store must exist: only a service creates one.
 * @throws when the store cannot be reached or used, or a newer version of the program wrote it; `storeProblem` says what to do.
 */
export async function openStore(
  location: StoreLocation,
  machine: StoreMachine,
  prepare: typeof migrate = migrate,
): Promise<Store> {
  switch (location.kind) {
    case "sqlite":
      return openSqliteStore(location, machine, prepare);
    case "postgres": {
      // Loaded lazily: a service on SQLite does not need the library.
      const { openPostgresStore } = await import("./postgres/store.ts");
      return openPostgresStore(location, machine, prepare);
    }
  }
}
