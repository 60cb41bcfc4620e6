import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { Client } from "pg";

/** The number of commits that a store wrote. */
export interface CommitCounter extends AsyncDisposable {
  /** Commits that changed something, of all processes, from an arbitrary start. */
  count(): Promise<number>;
  /** Process of the database; null when it runs inside the service. */
  readonly databaseProcessId: number | null;
}

/** Offset of `iChange` in the index of the log: one more with each transaction that is written (sqlite.org/walformat.html, section 2.1). */
const CHANGE_COUNTER_OFFSET = 8;

export function sqliteLog(dataDirectory: string): CommitCounter {
  const index = join(dataDirectory, "service.db-shm");
  return {
    databaseProcessId: null,
    count: () => Promise.resolve(readFileSync(index).readUInt32LE(CHANGE_COUNTER_OFFSET)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Counts transaction ids, which only writing transactions get; `xact_commit` also counts reads. */
export async function postgresLog(connect: () => Promise<Client>): Promise<CommitCounter> {
  const client = await connect();
  const ask = async (question: string) => {
    const { rows } = await client.query<{ readonly answer: string }>(question);
    return rows[0]?.answer ?? "";
  };
  const directory = await ask("select current_setting('data_directory') as answer");
  const [processId = ""] = (await readFile(join(directory, "postmaster.pid"), "utf8")).split("\n");
  return {
    databaseProcessId: Number(processId),
    count: async () => Number(await ask("select pg_snapshot_xmax(pg_current_snapshot())::text as answer")),
    [Symbol.asyncDispose]: () => client.end(),
  };
}
