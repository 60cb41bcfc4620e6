import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";

import { Kysely, type Transaction } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { migrate } from "../../../../../src/service/kernel/store/migrator.ts";
import { createWriter, type Writer } from "../../../../../src/service/kernel/store/sqlite/writer.ts";
import {
  commitInThread,
  type Committer,
  recordingDialect,
} from "../../../../../src/service/kernel/store/sqlite/recording.ts";
import { nodeSqliteDialect, type RecordedTransaction } from "../../../../../src/service/kernel/store/sqlite/dialect.ts";
import { openDatabase } from "../../../../../src/service/kernel/store/sqlite/database.ts";
import type { Tables } from "../../../../../src/service/kernel/store/tables.ts";
import { StoreUnavailableError } from "../../../../../src/service/kernel/store/unavailable.ts";
import { testFolder } from "../../../../support/folder.ts";
import { testMachine } from "../../../../support/robot/machine.ts";

let resources: AsyncDisposableStack;
let path: string;
let other: DatabaseSync;
beforeEach(async () => {
  resources = new AsyncDisposableStack();
  const directory = testFolder("recording");
  path = join(directory, "recording.db");
  other = resources.use(openDatabase(path));
  await migrate(new Kysely<Tables>({ dialect: nodeSqliteDialect(other) }), "2026");
});
afterEach(() => resources.disposeAsync());

/** @param commit replaces the commit and may call it. */
function writerWith(
  committer: Committer,
  commit = (recorded: RecordedTransaction) => committer.commit(recorded),
): Writer {
  resources.use(committer);
  const dialect = recordingDialect(resources.use(openDatabase(path)), { ...committer, commit });
  return createWriter(new Kysely<Tables>({ dialect }), testMachine.clock);
}

const organization = (id: string, name = id) => ({ id, name, created_at: "2026" });

function add(writer: Writer, ...ids: readonly string[]): Promise<unknown> {
  const rows = ids.map((id) => organization(id));
  return writer.write((transaction) => transaction.insertInto("organizations").values(rows).execute());
}

/** What other connections see now. */
function ids(): readonly unknown[] {
  return other
    .prepare("select id from organizations order by id")
    .all()
    .map((row) => row["id"]);
}

describe("recordingDialect", () => {
  it("write → visible and acknowledged when committed, nothing else waits for it", async () => {
    const disk = Promise.withResolvers<void>();
    const requested = Promise.withResolvers<void>();
    const committer = await commitInThread(path);
    const writer = writerWith(committer, async (recorded) => {
      requested.resolve();
      await disk.promise;
      await committer.commit(recorded);
    });
    let isAcknowledged = false;
    const written = add(writer, "org_1").then(() => (isAcknowledged = true));
    await requested.promise;
    expect([ids(), isAcknowledged]).toEqual([[], false]);
    disk.resolve();
    await written;
    expect(ids()).toEqual(["org_1"]);
  });

  it("another process commits first → the write runs again and sees that commit", async () => {
    const committer = await commitInThread(path);
    let attempts = 0;
    const writer = writerWith(committer, async (recorded) => {
      attempts += 1;
      if (attempts === 1) other.exec("insert into organizations values ('other', 'other', '2026')");
      await committer.commit(recorded);
    });
    const seen = await writer.write(async (transaction) => {
      await transaction.insertInto("organizations").values(organization("own")).execute();
      return (await transaction.selectFrom("organizations").select("id").orderBy("id").execute()).map(({ id }) => id);
    });
    expect([attempts, seen, ids()]).toEqual([2, ["other", "own"], ["other", "own"]]);
  });

  it("commit with unknown outcome → not repeated", async () => {
    const committer = await commitInThread(path);
    const lost = new StoreUnavailableError("The thread of the database has ended");
    const writer = writerWith(committer, async (recorded) => {
      await committer.commit(recorded);
      throw lost;
    });
    let runs = 0;
    const count = (transaction: Transaction<Tables>) => {
      runs += 1;
      return transaction.insertInto("organizations").values(organization("org_1")).execute();
    };
    await expect(writer.write(count)).rejects.toBe(lost);
    expect([runs, ids()]).toEqual([1, ["org_1"]]);
  });
});

describe("commitInThread", () => {
  it("write fails, also halfway → other writes of its commit succeed", async () => {
    const writer = writerWith(await commitInThread(path));
    await add(writer, "taken");
    const writes = [add(writer, "a"), add(writer, "new", "taken"), add(writer, "b")];
    const outcomes = await Promise.allSettled(writes);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(ids()).toEqual(["a", "b", "taken"]);
  });

  it("recorded transaction larger than the page cache → nothing in the write-ahead log", async () => {
    const writer = writerWith(await commitInThread(path));
    const large = Array.from({ length: 50 }, (_, index) => `${index}${"x".repeat(400_000)}`);
    const refused = writer.write(async (transaction) => {
      await transaction
        .insertInto("organizations")
        .values(large.map((id) => organization(id)))
        .execute();
      throw new Error("refused");
    });
    await expect(refused).rejects.toThrow("refused");
    await add(writer, "before");
    await add(writer, ...large);
    expect(ids()).toEqual(["before", ...large].toSorted());
    expect(other.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  });

  it("requesting thread → no disk writes, neither for commits nor for checkpoints", async () => {
    const asker = new Worker(new URL("./lone-asker.ts", import.meta.url), { workerData: path });
    const ended = once(asker, "exit");
    const [bytesWritten]: number[] = await once(asker, "message");
    // More than the log may contain before a checkpoint.
    expect(statSync(path).size).toBeGreaterThan(16_000_000);
    expect(bytesWritten).toBeLessThan(100_000);
    await ended;
  });
});
