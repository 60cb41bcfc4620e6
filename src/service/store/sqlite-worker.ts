/** A thread with one connection that reads a SQLite database. It answers one statement after the other, and ends when it is told to. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

import { SqliteSession } from "./sqlite-session.ts";
import { BUSY_TIMEOUT_MS } from "./sqlite-lock.ts";
import type { StatementAnswer, StatementRequest } from "./sqlite-threads.ts";

const path: string = workerData;
const port = parentPort;
if (port === null) throw new Error("This file is started as a thread of robot-policy-service");

const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly: true });
const session = new SqliteSession(database);

port.on("message", (request: StatementRequest | null) => {
  if (request !== null) {
    port.postMessage(answer(request));
    return;
  }
  database.close();
  port.close();
});

function answer({ sql, parameters }: StatementRequest): StatementAnswer {
  try {
    return session.run(sql, parameters);
  } catch (error) {
    return { error: copyable(error) };
  }
}

/** A copy in another thread keeps only the message of an error. */
function copyable(error: unknown): { readonly message: string; readonly details: object } {
  if (!(error instanceof Error)) return { message: String(error), details: {} };
  return { message: error.message, details: { ...error } };
}
