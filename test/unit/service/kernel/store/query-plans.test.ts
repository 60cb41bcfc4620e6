import { DatabaseSync } from "node:sqlite";

import { Kysely } from "kysely";
import { expect, it, onTestFinished } from "vitest";

import { fleetChanges, readChanges } from "../../../../../src/service/changes.ts";
import { listDeployments } from "../../../../../src/service/deployments/queries.ts";
import { findInstallationOf } from "../../../../../src/service/identity/installations.ts";
import { migrate } from "../../../../../src/service/kernel/store/migrator.ts";
import {
  nodeSqliteDriver,
  sessionConnection,
  sqliteDialect,
  SqliteSession,
  type StatementRequest,
} from "../../../../../src/service/kernel/store/sqlite/dialect.ts";
import type { Reader } from "../../../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../../../src/service/kernel/store/tables.ts";
import { countRobots } from "../../../../../src/service/robots/quota.ts";
import { lastPeriodEnd } from "../../../../../src/service/usage/usage.ts";

/** Where several indexes fit a query, the plan must not be the one that reads what an organization ever had. */
const QUERIES: readonly (readonly [name: string, index: string, run: (store: Kysely<Tables>) => Promise<unknown>])[] = [
  ["live robots, counted", "robots_by_name", (store) => countRobots(store, "org")],
  ["installation of a robot", "installations_by_robot", (store) => findInstallationOf(store, "org", "rob")],
  ["deployments of a robot", "deployments_by_robot", list({ current: false, robotId: "rob" })],
  ["current deployments, first page", "deployments_current_in_order", list({ current: true })],
  ["current deployments, next page", "deployments_current_in_order", list({ current: true }, "dep_1")],
  ["generations that fleets wait for", "generations_awaited", (store) => fleetChanges(store, "org", 0)],
  [
    "changes in an organization",
    "audit_log_of_people",
    (store) => readChanges(store, "org", { nowMs: 0, onlineWindowMs: 1 }),
  ],
  [
    "last period of a robot",
    "deployments_by_robot",
    (store) => store.transaction().execute((transaction) => lastPeriodEnd(transaction, "org", "rob", "2026")),
  ],
];

it.each(QUERIES)("SQLite: %s → by the index %s", async (_name, index, run) => {
  const database = new DatabaseSync(":memory:");
  const ran: StatementRequest[] = [];
  const connection = sessionConnection(new SqliteSession(database), (statement) => void ran.push(statement));
  const store = new Kysely<Tables>({ dialect: sqliteDialect(() => nodeSqliteDriver(database, null, connection)) });
  onTestFinished(() => store.destroy());
  await migrate(store, "2026");
  ran.length = 0;
  await run(store);
  expect(ran.map((statement) => plan(database, statement))).toContainEqual(
    expect.stringContaining(` INDEX ${index} (`),
  );
});

function list(which: Parameters<typeof listDeployments>[3], after: string | null = null) {
  return (store: Reader) => listDeployments(store, "org", { after, rows: 100 }, which);
}

function plan(database: DatabaseSync, { sql, parameters }: StatementRequest): string {
  const values = parameters.filter((value) => typeof value === "string" || typeof value === "number");
  const steps = database.prepare(`explain query plan ${sql}`).all(...values);
  return steps.map(({ detail }) => String(detail)).join("\n");
}
