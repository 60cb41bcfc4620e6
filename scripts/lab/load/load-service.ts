/** The service under load: the shipped program in its own processes, on SQLite or as two replicas on PostgreSQL. */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { Client } from "pg";

import { freePort } from "../../../test/support/service/free-port.ts";
import { startPostgres } from "../../../test/support/service/postgres.ts";
import { endProcess, scratchFolder } from "../../support/end-of-script.ts";
import { listening, serve } from "../support/release.ts";

export type StoreKind = "sqlite" | "postgres";

/** The number of commits that a store wrote. */
export interface CommitCounter extends AsyncDisposable {
  /** Commits that changed something, of all processes, from an arbitrary start. */
  count(): Promise<number>;
  /** Process of the database; null when it runs inside the service. */
  readonly databaseProcessId: number | null;
}

export interface LoadedService extends AsyncDisposable {
  readonly store: StoreKind;
  /** Addresses of the replicas; unchanged by a restart. */
  readonly urls: readonly string[];
  /** A key of one organization with all scopes. */
  readonly key: string;
  readonly commits: CommitCounter;
  /** Process ids of the running replicas. */
  processIds(): readonly number[];
  /** Ends all replicas at once, as a power cut does. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Runs a statement on the store. Only while the service does not run. */
  execute(statement: string): Promise<void>;
}

export interface LoadedServiceOptions {
  readonly store: StoreKind;
  /** Additional flags of the service. */
  readonly program: string;
  /** Folder for CPU profiles (--cpu-prof); the service is then stopped instead of killed, because Node writes them at the exit. */
  readonly profiles: string | null;
}

/** Robots name their addresses themselves, as a load balancer would. */
const CONFIGURATION = "trusted_proxies: [127.0.0.1]\nlog: { level: warn }\n";
const REPLICAS: Readonly<Record<StoreKind, number>> = { sqlite: 1, postgres: 2 };

export async function startLoadedService({ store, program, profiles }: LoadedServiceOptions): Promise<LoadedService> {
  await using starting = new AsyncDisposableStack();
  const folder = scratchFolder("robot-policy-load-");
  const data = join(folder, "data");
  const configuration = join(folder, "config.yaml");
  const keyFile = join(folder, "api-key");
  await writeFile(configuration, CONFIGURATION);
  const cluster = store === "postgres" ? starting.use(await startPostgres({ fsync: true })) : null;
  const database = await cluster?.createDatabase();
  const commits =
    cluster === null || database === undefined
      ? sqliteLog(data)
      : starting.use(await postgresLog(() => cluster.connect(database)));
  const place = database === undefined ? ["--data", data] : ["--database", database];
  const environment: Readonly<Record<string, string>> =
    profiles === null ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` };
  const running: ChildProcess[] = [];
  starting.defer(() => end());

  async function launch(port: number): Promise<ChildProcess> {
    const flags = ["--config", configuration, "--bootstrap-key-file", keyFile, "--no-rate-limit"];
    const args = [...place, ...flags, "--listen", `127.0.0.1:${port}`];
    const child = serve(program, args, join(folder, "log"), environment);
    await listening(child);
    return child;
  }

  async function start(): Promise<void> {
    // One after the other, because the first creates the tables and the key.
    for (const port of ports) running.push(await launch(port));
  }

  async function end(): Promise<void> {
    await Promise.all(running.splice(0).map((child) => endProcess(child, profiles === null ? "SIGKILL" : "SIGTERM")));
  }

  const ports = await Promise.all(Array.from({ length: REPLICAS[store] }, freePort));
  await start();
  const key = (await readFile(keyFile, "utf8")).trim();
  const resources = starting.move();
  return {
    store,
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    key,
    commits,
    processIds: () => running.flatMap(({ pid }) => pid ?? []),
    kill: end,
    start,
    async execute(statement) {
      if (cluster === null || database === undefined) {
        using file = new DatabaseSync(join(data, "service.db"));
        file.exec(statement);
      } else {
        await using resources = new AsyncDisposableStack();
        const client = await cluster.connect(database);
        resources.defer(() => client.end());
        await client.query(statement);
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Offset of `iChange` in the index of the log: one more with each transaction that is written (sqlite.org/walformat.html, section 2.1). */
const CHANGE_COUNTER_OFFSET = 8;

function sqliteLog(dataDirectory: string): CommitCounter {
  const index = join(dataDirectory, "service.db-shm");
  return {
    databaseProcessId: null,
    count: () => Promise.resolve(readFileSync(index).readUInt32LE(CHANGE_COUNTER_OFFSET)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Counts transaction ids, which only writing transactions get; `xact_commit` also counts reads. */
async function postgresLog(connect: () => Promise<Client>): Promise<CommitCounter> {
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
