/** A thread with one connection to a SQLite database, for reading or for commits. It answers requests one after the other, until it receives null. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

import { BUSY_TIMEOUT_MS, openDatabase } from "./database.ts";
import { SqliteSession, type StatementResult } from "./dialect.ts";
import { createReplay } from "./recording.ts";
import type { ThreadAnswer, ThreadRequest, ThreadSetup } from "./threads.ts";

const { path, role }: ThreadSetup = workerData;
const port = parentPort;
if (port === null) throw new Error("This file is started as a thread of robot-policy-service");

const database =
  role === "reader" ? new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly: true }) : openDatabase(path);
const session = new SqliteSession(database);
const commit = createReplay(database);

port.on("message", (request: ThreadRequest) => {
  if (request !== null) {
    port.postMessage(answer(request));
    return;
  }
  database.close();
  port.close();
});

function answer(request: NonNullable<ThreadRequest>): ThreadAnswer {
  try {
    return run(request);
  } catch (error) {
    return { error: copyable(error) };
  }
}

function run(request: NonNullable<ThreadRequest>): StatementResult {
  if ("sql" in request) return session.run(request.sql, request.parameters);
  commit(request);
  return { columns: [], rows: [], changes: null };
}

/** Structured cloning keeps only the message of an error, so its other members go separately. */
function copyable(error: unknown): { readonly message: string; readonly details: object } {
  if (!(error instanceof Error)) return { message: String(error), details: {} };
  return { message: error.message, details: { ...error } };
}
