/**
 * A thread that only requests commits, so that its disk writes are those of the store. It sends the number of bytes to its parent. The test
 * thread itself is unsuitable, because it writes its reports at any time.
 */
import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

import { Kysely } from "kysely";

import { createWriter } from "../../../../../src/service/kernel/store/sqlite/writer.ts";
import { commitInThread, recordingDialect } from "../../../../../src/service/kernel/store/sqlite/recording.ts";
import { openDatabase } from "../../../../../src/service/kernel/store/sqlite/database.ts";
import type { Tables } from "../../../../../src/service/kernel/store/tables.ts";
import { testMachine } from "../../../../support/robot/machine.ts";

const ROWS = 20;
const NAME_BYTES = 500_000;

const path: string = workerData;
await using committer = await commitInThread(path);
using database = openDatabase(path);
const kysely = new Kysely<Tables>({ dialect: recordingDialect(database, committer) });
const writer = createWriter(kysely, testMachine.clock);

const before = bytesWritten();
for (let count = 0; count < ROWS; count += 1) {
  const name = `${count}${"x".repeat(NAME_BYTES)}`;
  const row = { id: name, name, created_at: "2026" };
  await writer.write((transaction) => transaction.insertInto("organizations").values(row).execute());
}
parentPort?.postMessage(bytesWritten() - before);

/** Bytes written by this thread to files and pipes (proc_pid_io(5)). */
function bytesWritten(): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/thread-self/io", "utf8"))?.[1]);
}
