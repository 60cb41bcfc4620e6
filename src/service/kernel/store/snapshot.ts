import type { Transaction } from "kysely";

import type { Reader } from "./store.ts";
import type { Tables } from "./tables.ts";

/** Runs queries on one snapshot: each sees the store as the first one saw it. */
export function readSnapshot<T>(reader: Reader, read: (snapshot: Transaction<Tables>) => Promise<T>): Promise<T> {
  return reader.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(read);
}
