import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { CompiledQuery } from "kysely";

import { migrate } from "../../../src/service/store/migrator.ts";
import { sqliteRunner } from "../../../src/service/store/sqlite-batch.ts";
import { openSqliteReader, openSqliteWriter, SQLITE_FILE } from "../../../src/service/store/sqlite-store.ts";
import type { MakeDialect } from "../../../src/service/store/sqlite-store.ts";
import type { Store } from "../../../src/service/store/store.ts";
import { createWriter } from "../../../src/service/store/writer.ts";
import type { WriteRunner } from "../../../src/service/store/writer.ts";
import type { Process } from "../scheduler.ts";
import { refuseFiles } from "./no-files.ts";
import type { ServiceMistake } from "./service-mistakes.ts";
import { SlowDialect } from "./slow-dialect.ts";

/**
 * The database behind all replicas: the store of the service as it is, over one file. Between queries time passes, and whoever is killed
 * then leaves what it had not committed.
 *
 * SQLite would keep a second writer waiting without letting go of the thread, so writers take turns here, as they do for a row of PostgreSQL.
 */
export interface Database extends Disposable {
  /** Queries of whoever watches the world. */
  readonly truth: DatabaseSync;
  /** Changes with every commit. */
  readonly commits: number;
  /** Opens the store for a replica. */
  open(options: ConnectionOptions): Promise<Connection>;
}

export interface ConnectionOptions {
  readonly process: Process;
  readonly now: string;
  /** Told how to end the connection, before it is ready: a replica that is killed while it migrates must give up its turn. */
  onDrop(drop: Connection["drop"]): void;
  /** Lets time pass, as long as a query takes. */
  pause(): Promise<void>;
  /** Changes what queries ask and are answered, to plant a mistake. */
  readonly mistake: Pick<ServiceMistake, "rewrite" | "rows">;
}

export interface Connection {
  readonly store: Store;
  /** kill -9: what was not committed is gone. */
  drop(): Promise<void>;
}

interface Turn {
  readonly process: Process;
  readonly begin: () => void;
}

const DATA_VERSION = CompiledQuery.raw("pragma data_version");
/** A file system in memory, where there is one: thousands of worlds are no work for a disk. */
const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export function createDatabase(bytes: Uint8Array): Database {
  const folder = mkdtempSync(join(FOLDER, "world-"));
  writeFileSync(join(folder, SQLITE_FILE), bytes);
  const truth = new DatabaseSync(join(folder, SQLITE_FILE), { readOnly: true });
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
    if (holder === null) {
      holder = process;
      return Promise.resolve();
    }
    return new Promise((resolve) => waiting.push({ process, begin: resolve }));
  }

  /** One writer at a time, and what is committed is acknowledged a moment later. */
  function inTurn(runner: WriteRunner, { process, pause }: ConnectionOptions): WriteRunner {
    return {
      ...runner,
      async together(batch) {
        await takeTurn(process);
        try {
          const late = batch.map((write) => ({ ...write, commit: () => void pause().then(write.commit) }));
          return await runner.together(late);
        } finally {
          commits += 1;
          if (process.alive) next();
        }
      },
    };
  }

  return {
    truth,
    get commits() {
      return commits;
    },
    async open(options) {
      const { process, now } = options;
      const dialectOf: MakeDialect = (database) => new SlowDialect(database, options);
      const writer = await openSqliteWriter(folder, refuseFiles, dialectOf);
      const reader = openSqliteReader(folder, dialectOf);
      // Kysely closes only what it has used.
      await reader.executeQuery(DATA_VERSION);
      const drop = async () => {
        await Promise.all([reader.destroy(), writer.destroy()]);
        if (holder === process) next();
      };
      options.onDrop(drop);
      await takeTurn(process);
      await migrate(writer, now);
      next();
      const queue = createWriter(inTurn(sqliteRunner(writer), options));
      return {
        store: {
          reader,
          write: (job) => queue.write(job),
          async version() {
            const { rows } = await reader.executeQuery<{ data_version: number }>(DATA_VERSION);
            return String(rows[0]?.data_version);
          },
          async [Symbol.asyncDispose]() {
            await queue.idle();
            await reader.destroy();
            await writer.destroy();
          },
        },
        drop,
      };
    },
    [Symbol.dispose]() {
      truth.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
