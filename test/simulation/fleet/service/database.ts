import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { CompiledQuery, type Dialect, Kysely } from "kysely";

import { migrate } from "../../../../src/service/kernel/store/migrator.ts";
import { createWriter } from "../../../../src/service/kernel/store/sqlite/writer.ts";
import {
  type Committer,
  createReplay,
  recordingDialect,
} from "../../../../src/service/kernel/store/sqlite/recording.ts";
import { nodeSqliteDialect } from "../../../../src/service/kernel/store/sqlite/dialect.ts";
import { openDatabase } from "../../../../src/service/kernel/store/sqlite/database.ts";
import { SQLITE_FILE } from "../../../../src/service/kernel/store/sqlite/store.ts";
import type { Tables } from "../../../../src/service/kernel/store/tables.ts";
import type { Process } from "../../scheduler.ts";
import type { Connections, ServiceDisk } from "./service-disk.ts";
import { type Connection, type ConnectionOptions, slowDialect, type WriterTurns } from "./slow-dialect.ts";

/**
 * The database of all replicas: the service's real store in one file. Time passes between queries, and a process killed then leaves
 * uncommitted work.
 *
 * SQLite would block the thread while a second writer waits. So writers queue here, as they queue for a row lock in PostgreSQL.
 */
export interface Database {
  /** Changes with every commit. */
  readonly commits: number;
  /** Opens the store for a replica. */
  open(options: ConnectionOptions): Promise<Connection>;
}

interface Turn {
  readonly process: Process;
  readonly begin: () => void;
}

/** No time passes within one step of the world. */
const NO_TIME = { monotonicMs: () => 0 };

const DATA_VERSION = CompiledQuery.raw("pragma data_version");

export function createDatabase(disk: ServiceDisk): Database {
  const waiting: Turn[] = [];
  let holder: Process | null = null;
  let commits = 0;

  function next(): void {
    holder = null;
    for (let turn = waiting.shift(); turn !== undefined; turn = waiting.shift()) {
      if (!turn.process.alive) continue;
      holder = turn.process;
      turn.begin();
      return;
    }
  }

  function takeTurn(process: Process): Promise<void> {
    // Killed while opening the database: it would hold its place in the queue forever.
    if (!process.alive) return new Promise(() => {});
    if (holder === null) {
      holder = process;
      return Promise.resolve();
    }
    return new Promise((resolve) => waiting.push({ process, begin: resolve }));
  }

  /** Allows one writer at a time. */
  const turnsOf = (process: Process): WriterTurns => ({
    begin: () => takeTurn(process),
    end() {
      commits += 1;
      if (process.alive) next();
    },
  });

  return {
    get commits() {
      return commits;
    },
    async open(options) {
      const { process, now, mistake } = options;
      const path = join(disk.folder, SQLITE_FILE);
      const [running, committing] = [openDatabase(path), openDatabase(path)];
      const reading = new DatabaseSync(path, { readOnly: true });
      for (const database of [running, committing]) disk.attach(database, "writer");
      disk.attach(reading, "reader");
      for (const database of [running, committing]) mistake.openWriter(database);
      const close = () => {
        // A power cut has closed the connection.
        for (const database of [reading, running, committing]) database[Symbol.dispose]();
      };
      const drop = async () => {
        close();
        if (holder === process) next();
      };
      options.onDrop(drop);
      const slowly = (dialect: Dialect, connections: Connections, turns?: WriterTurns) =>
        new Kysely<Tables>({ dialect: slowDialect(dialect, { ...options, disk, connections, turns }) });
      const reader = slowly(nodeSqliteDialect(reading), { running: reading, committing: reading });
      await takeTurn(process);
      await migrate(slowly(nodeSqliteDialect(running), { running, committing: running }), now);
      next();
      const recording = recordingDialect(running, commitHere(committing));
      const writer = slowly(recording, { running, committing }, turnsOf(process));
      const queue = createWriter(writer, NO_TIME);
      return {
        store: {
          reader,
          lookup: reader,
          write: (job) => queue.write(job),
          async version() {
            const { rows } = await reader.executeQuery<{ data_version: number }>(DATA_VERSION);
            return String(rows[0]?.data_version);
          },
          async probe() {
            await reader.executeQuery(DATA_VERSION);
          },
          async [Symbol.asyncDispose]() {
            await queue.idle();
            close();
          },
        },
        drop,
      };
    },
  };
}

/**
 * Commits in this thread, which in the service another one does. Nobody else commits in the turn of a writer, so that what was committed
 * before it is no conflict.
 */
function commitHere(database: DatabaseSync): Committer {
  return {
    commit: async (recorded) => createReplay(database)(recorded),
    async [Symbol.asyncDispose]() {},
  };
}
